"""A resolver that needs no index: what it knows, it answers with stable made-up hashes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping

from envbuilder.catalog.environments import BaseChoice, BaseKind
from envbuilder.core.errors import ResolutionFailed
from envbuilder.core.references import normalized
from envbuilder.lock.base_choice import Located, OsPackages, Refused
from envbuilder.lock.closures import Chosen
from envbuilder.lock.lock import OsPackagePin
from envbuilder.lock.resolve.resolver import Resolution
from envbuilder.lock.spec import Spec


def made_up_sha256(name: str) -> str:
    """64 hexadecimal digits that depend on the name only."""
    return hashlib.sha256(name.encode()).hexdigest()


def chosen(name: str, version: str, *, source: bool = False) -> Chosen:
    """A distribution with a wheel that runs anywhere, or as a source distribution."""
    stem = f"{name.replace('-', '_')}-{version}"
    file = f"{stem}.tar.gz" if source else f"{stem}-py3-none-any.whl"
    return Chosen(name=name, version=version, file=file, sha256=made_up_sha256(file))


class FakeResolver:
    """The `Resolver` for tests.

    A requirement that pins a version gets it; one that does not gets the newest version that `versions` knows, or
    `1.0`. Preferences are kept as uv keeps them. Dependencies come from `needs`. What is provided is not chosen.

    Args:
        versions: Newest version by distribution.
        needs: Requirements by distribution.
        unsolvable: Distributions that no version of goes together with the rest.

    Attributes:
        asked: Every request, in order.
    """

    def __init__(
        self,
        *,
        versions: Mapping[str, str] | None = None,
        needs: Mapping[str, Iterable[str]] | None = None,
        unsolvable: Iterable[str] = (),
    ) -> None:
        self.asked: list[Resolution] = []
        self._versions = dict(versions or {})
        self._needs = {name: tuple(requirements) for name, requirements in (needs or {}).items()}
        self._unsolvable = frozenset(unsolvable)

    def resolve(self, wanted: Resolution) -> tuple[Chosen, ...]:
        self.asked.append(wanted)
        versions = {**self._versions, **_pinned(wanted.preferred), **_pinned(wanted.requirements)}
        picked: set[str] = set()
        waiting = list(wanted.requirements)
        while waiting:
            name = _name(waiting.pop())
            if name in self._unsolvable:
                raise ResolutionFailed(f"no version of {name} goes together with the rest", hint="loosen your packages")
            if name not in picked and name not in wanted.leave_out and name not in _pinned(wanted.provided):
                picked.add(name)
                waiting += self._needs.get(name, ())
        return tuple(
            chosen(name, versions.get(name, "1.0"), source=name in wanted.source_builds) for name in sorted(picked)
        )


def _pinned(requirements: Iterable[str]) -> dict[str, str]:
    return {_name(each): each.partition("==")[2] for each in requirements if "==" in each}


def _name(requirement: str) -> str:
    return normalized(re.split(r"[<>=!~\[ ]", requirement)[0])


class FakeOsResolver:
    """The `OsResolver` for tests: every package that is asked for, in the version that it names or `1.0`.

    Args:
        engine: Whether a container engine answers, without which registry images are refused.
        missing: Suites that the archive does not have.

    Attributes:
        asked: `(base id, packages)` of every request, in order.
    """

    def __init__(self, *, engine: bool = True, missing: tuple[str, ...] = ()) -> None:
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self._engine = engine
        self._missing = missing

    def refusal(self, choice: BaseChoice) -> Refused | None:
        if self._engine or choice.system.kind is not BaseKind.IMAGE:
            return None
        return Refused(base=choice.system.id, reason="requires a container engine")

    def resolve(self, located: Located, packages: tuple[str, ...], spec: Spec) -> OsPackages:
        assert spec.environment
        self.asked.append((located.base.id, packages))
        named = (package.partition("=") for package in packages)
        pins = tuple(
            OsPackagePin(name=name, version=version or "1.0", sha256=made_up_sha256(f"{name}_{version or '1.0'}.deb"))
            for name, _, version in named
        )
        return OsPackages(pins=pins, missing=self._missing)
