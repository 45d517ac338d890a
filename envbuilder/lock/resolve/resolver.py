"""Port to a resolver of Python packages, its request, and results that are remembered."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedResolutions:
    """Results of resolutions, by what they were made from."""

    _known: dict[tuple[Hashable, Resolution], tuple[Chosen, ...]] = field(default_factory=dict)

    def of(self, resolver: Resolver, index: Hashable) -> Resolver:
        """Return a resolver that remembers its results.

        Args:
            resolver: Resolves what is new.
            index: Where it finds packages; results of another index do not count.
        """
        return _Remembering(resolver=resolver, index=index, known=self._known)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Remembering:
    resolver: Resolver
    index: Hashable
    known: dict[tuple[Hashable, Resolution], tuple[Chosen, ...]]

    def resolve(self, wanted: Resolution) -> tuple[Chosen, ...]:
        """See `Resolver.resolve`."""
        key = (self.index, wanted)
        if key not in self.known:
            self.known[key] = self.resolver.resolve(wanted)
        return self.known[key]
