"""Located bases and interpreters, and refusals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from envbuilder.catalog.environments import BaseChoice
from envbuilder.lock.lock import BasePin, OsPackagePin, PythonPin


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
