"""What was concluded from a project."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from envbuilder.catalog.advise.advice import Advice
from envbuilder.lock.adopt import EnvironmentChoice
from envbuilder.lock.adopted_packages import PackageChange
from envbuilder.lock.project.clues import UnusedLine
from envbuilder.lock.project.conclusions import Conclusions
from envbuilder.lock.spec import Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherPython:
    """Another Python, for which pins of a project have wheels that they lack for the chosen one.

    Attributes:
        advice: The environment that is chosen for the project with that Python.
        pins: Requirements that have wheels for it; at least one.
    """

    advice: Advice
    pins: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """What was concluded from a project.

    Attributes:
        files: Files that were read.
        last_change: Day of its last commit; None if unknown.
        found: What it says.
        spec: Its spec; None if no environment fits.
        changes: Packages that could not be taken over as they are.
        not_copied: Lines that copy files which cannot be own files.
        other_python: Another Python that has wheels of pins; None if there is none, or no pin lacks a wheel.
    """

    files: tuple[str, ...]
    last_change: date | None
    found: Conclusions
    choice: EnvironmentChoice
    spec: Spec | None = None
    changes: tuple[PackageChange, ...] = ()
    not_copied: tuple[UnusedLine, ...] = ()
    other_python: OtherPython | None = None

    @property
    def unused(self) -> tuple[UnusedLine, ...]:
        """Lines of the project that are not taken over, with the reasons."""
        return (*self.found.unused, *self.not_copied)
