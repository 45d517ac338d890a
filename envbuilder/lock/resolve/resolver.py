"""Port to a resolver of Python packages, and its request."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Protocol

from envbuilder.core.versions import Release
from envbuilder.lock.closures import Chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """Request for a resolution.

    Attributes:
        python: Interpreter in the image, major and minor.
        glibc: C library in the image; decides which wheels are suitable.
        requirements: Required packages, sorted.
        constraints: Bounds on the choice of versions, sorted.
        cutoff: Files uploaded after this day are ignored.
        source_builds: Packages for which source distributions are allowed, sorted.
        leave_out: Distributions that come from elsewhere, sorted.
        preferred: `name==version` to keep if the requirements allow it, sorted.
        provided: `name==version` of distributions that another requirement replaces, sorted: they satisfy requirements
            of this version, and are not installed.
    """

    python: Release
    glibc: Release
    requirements: tuple[str, ...]
    cutoff: date
    constraints: tuple[str, ...] = ()
    source_builds: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    preferred: tuple[str, ...] = ()
    provided: tuple[str, ...] = ()


class Resolver(Protocol):
    """Resolver of requirements into exact files."""

    def resolve(self, wanted: Resolution) -> tuple[Chosen, ...]:
        """Resolve a request; return one file per distribution, sorted by name.

        Raises:
            ResolutionFailed: The requirements conflict; carries the resolver's own explanation.
            SourceUnreachable: The package index does not respond.
        """
        ...
