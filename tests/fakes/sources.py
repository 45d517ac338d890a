"""Bases and interpreter archives that are there or not, as a test wants it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from envbuilder.catalog.environments import BaseKind, BaseSystem, PythonProvider
from envbuilder.core.versions import Release
from envbuilder.lock.base_choice import Refused
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import BasePin, OsPackagePin, PythonPin
from tests.fakes.resolver import made_up_sha256


class FakeBases:
    """The `BaseSource` for both kinds of bases.

    Args:
        missing: Bases that cannot be had, with the reason.
        without: Suites of updates that the Debian archive does not have.

    Attributes:
        asked: Ids of all bases that were looked for, in order.
    """

    def __init__(self, missing: Mapping[str, str] | None = None, *, without: tuple[str, ...] = ()) -> None:
        self._without = without
        self.asked: list[str] = []
        self._missing = dict(missing or {})

    def locate(self, system: BaseSystem, sources: Sources) -> BasePin | Refused:
        self.asked.append(system.id)
        if system.id in self._missing and not sources.registry_mirror:
            return Refused(base=system.id, reason=self._missing[system.id], hint=f"make {system.id}")
        debian = system.kind is BaseKind.DEBIAN
        return BasePin(
            id=system.id,
            kind=system.kind,
            image=system.image,
            digest=system.digest or f"sha256:{made_up_sha256(system.id)}",
            packages=tuple(OsPackagePin(name=name, version="1.0") for name in system.packages) if debian else (),
            missing=self._without if debian else (),
        )


class FakePythons:
    """The `PythonSource`: an archive of every version, but for those that are missing."""

    def __init__(self, missing: Iterable[str] = ()) -> None:
        self._missing = {Release(version) for version in missing}

    def locate(self, version: Release, glibc: Release, sources: Sources) -> PythonPin | Refused:
        if glibc < Release("2.17"):
            return Refused(base="", reason=f"every archive needs glibc 2.17, the base has {glibc}")
        if version in self._missing and not sources.python_archives:
            return Refused(base="", reason=f"no archive of Python {version}", hint=f"pack Python {version}")
        full = Release(f"{version}.18" if len(version.parts) == 2 else str(version))
        file = f"cpython-{full}-x86_64-linux-gnu.tar.gz"
        return PythonPin(version=full, provider=PythonProvider.ARCHIVE, file=file, sha256=made_up_sha256(file))
