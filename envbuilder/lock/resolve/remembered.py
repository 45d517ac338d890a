"""Resolutions of this process, each of which is made once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from envbuilder.lock.closures import Chosen
from envbuilder.lock.resolve.resolver import Resolution, Resolver


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
