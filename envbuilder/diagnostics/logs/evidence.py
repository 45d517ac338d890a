"""The evidence in a log, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from envbuilder.core.versions import Release, release_of
from envbuilder.diagnostics.logs.signatures import Role, Signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One line that matches a signature.

    Attributes:
        line: Its number, from 1.
        text: The line, clean.
        captured: Named groups of the pattern that took part.
    """

    line: int
    text: str
    captured: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """All matches of one signature.

    Attributes:
        signature: The signature.
        count: Number of lines.
        last: Number of the last one.
        samples: The first ones and the last ones, by line; at least one.
    """

    signature: Signature
    count: int
    last: int
    samples: tuple[Sample, ...]

    @property
    def first(self) -> int:
        """Number of the first line."""
        return self.samples[0].line

    def captures(self, name: str) -> tuple[str, ...]:
        """Return the captures of a group, in line order."""
        return tuple(sample.captured[name] for sample in self.samples if name in sample.captured)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence of a whole log.

    Attributes:
        lines: Number of its lines.
        hits: By id of the signature, in order of the first line.
    """

    lines: int
    hits: Mapping[str, Hit]

    def has(self, *names: str) -> bool:
        """Return True if at least one of these signatures matched."""
        return any(name in self.hits for name in names)

    def last(self, *names: str) -> int:
        """Return the last line that one of these signatures matched; 0 if none did."""
        return max((self.hits[name].last for name in names if name in self.hits), default=0)

    def first(self, *names: str) -> int:
        """Return the first line that one of these signatures matched; 0 if none did."""
        return min((self.hits[name].first for name in names if name in self.hits), default=0)

    def captures(self, *groups: str) -> tuple[str, ...]:
        """Return the captures of groups of these names, in the order of the hits."""
        return tuple(text for hit in self.hits.values() for group in groups for text in hit.captures(group))

    def releases(self, *groups: str) -> tuple[Release, ...]:
        """Return the captures of groups of these names that are releases."""
        found = (release_of(text.rstrip(".")) for text in self.captures(*groups))
        return tuple(release for release in found if release is not None)

    def outcome_kind(self) -> tuple[Hit, ...]:
        """Return the hits whose `only_with` and `not_with` hold."""
        return tuple(hit for hit in self.hits.values() if self._stands(hit.signature))

    def of(self, role: Role) -> tuple[Hit, ...]:
        """Return the standing hits of one role."""
        return tuple(hit for hit in self.outcome_kind() if hit.signature.role is role)

    def _stands(self, signature: Signature) -> bool:
        wanted = not signature.only_with or self.has(*signature.only_with)
        return wanted and not self.has(*signature.not_with)
