"""Located bases and refusals, and the choice among the bases of an environment for a spec."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from envbuilder.catalog.environments import BaseChoice, BaseSystem, Environment, PythonProvider
from envbuilder.core.errors import NoUsableBase, UsageError
from envbuilder.core.versions import Release
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import BasePin, OsPackagePin, PythonPin
from envbuilder.lock.spec import Spec


class BaseSource(Protocol):
    """Source of bases of one kind."""

    def locate(self, system: BaseSystem, sources: Sources) -> BasePin | Refused:
        """Return the exact base, or why it is unavailable."""
        ...


class PythonSource(Protocol):
    """Source of interpreter archives."""

    def locate(self, version: Release, glibc: Release, sources: Sources) -> PythonPin | Refused:
        """Return an archive of this major and minor version that runs on this C library, or why there is none.

        `base` of a refusal is empty.
        """
        ...


def choose(
    row: Environment, spec: Spec, locate: Callable[[BaseChoice], Location]
) -> tuple[Located, tuple[Refused, ...]]:
    """Return the first available base, in the environment's order of preference.

    Args:
        row: The environment.
        spec: May name a base and an interpreter.
        locate: Looks for one base.

    Returns:
        The base, and the refusals before it, in the order in which they were tried.

    Raises:
        UsageError: The spec names a base or an interpreter that the environment does not have.
        NoUsableBase: No base is available; carries the reasons.
    """
    refusals: list[Refused] = []
    for candidate in _candidates(row, spec):
        outcome = candidate if isinstance(candidate, Refused) else locate(candidate)
        if isinstance(outcome, Located):
            return outcome, tuple(refusals)
        refusals.append(outcome)
    hints = [refusal.hint for refusal in refusals if refusal.hint]
    raise NoUsableBase(
        row.id,
        tuple((refusal.base, refusal.reason) for refusal in refusals),
        hint=hints[0] if hints else "name a registry that has one: `--registry-mirror HOST[:PORT]`",
    )


def _candidates(row: Environment, spec: Spec) -> Iterator[BaseChoice | Refused]:
    named = [choice for choice in row.bases if not spec.base or choice.system.id == spec.base]
    if not named:
        known = ", ".join(choice.system.id for choice in row.bases)
        raise UsageError(f"{row.id} has no base {spec.base!r}", hint=f"it has {known}")
    if spec.python is not None and spec.python not in row.pythons:
        known = ", ".join(map(str, row.pythons))
        raise UsageError(f"{row.id} does not support Python {spec.python}", hint=f"supported: {known}")
    for choice in named:
        if spec.python is None or spec.python == choice.python:
            yield choice
        elif choice.python_provider is PythonProvider.ARCHIVE:
            yield row.with_python(choice, spec.python)
        else:
            yield Refused(
                base=choice.system.id,
                reason=f"has Python {choice.python}, not {spec.python}",
                hint=f"remove `python:`, or set it to {choice.python}",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """An available base, with its interpreter."""

    choice: BaseChoice
    base: BasePin
    python: PythonPin


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An unavailable base.

    Attributes:
        reason: Why, in a few words for use after a colon.
        hint: What would make it available; may be empty.
    """

    base: str
    reason: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.base}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OsPackages:
    """OS packages on top of a base.

    Attributes:
        pins: Exact files, sorted by name.
        missing: Suites of updates that the archive did not have.
    """

    pins: tuple[OsPackagePin, ...]
    missing: tuple[str, ...] = ()


Location: TypeAlias = Located | Refused
