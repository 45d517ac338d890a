"""The port to a resolver of Python packages, and what it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Protocol

from envbuilder.core.versions import Release
from envbuilder.lock.closures import Chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What to resolve.

    Attributes:
        python: Interpreter in the image, major and minor.
        glibc: C library in the image; decides which wheels can be used.
        requirements: What must be there, sorted.
        constraints: Bounds on what may be chosen, sorted.
        cutoff: Files uploaded after this day do not exist.
        source_builds: Packages that may be taken as source distributions, sorted.
        leave_out: Distributions that something else provides, sorted.
        preferred: `name==version` to keep where the requirements allow it, sorted.
        provided: `name==version` of distributions that another one of the requirements stands for, sorted: they satisfy
            requirements of this version, and are not installed.
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
    """Turns requirements into exact files."""

    def resolve(self, wanted: Resolution) -> tuple[Chosen, ...]:
        """Resolve; the answer is sorted by name and has one file per distribution.

        Raises:
            ResolutionFailed: The requirements do not go together; carries the resolver's own explanation.
            SourceUnreachable: The package index does not answer.
        """
        ...
