"""What was found in a log, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from envbuilder.core.versions import Release, release_of
from envbuilder.diagnostics.logs.signatures import Role, Signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One line that a signature found.

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
    """Everything that one signature found.

    Attributes:
        signature: Which.
        count: How many lines.
        last: Number of the last of them.
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
        """What a group captured, in line order."""
        return tuple(sample.captured[name] for sample in self.samples if name in sample.captured)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A log after reading.

    Attributes:
        lines: How many lines it has.
        hits: By id of the signature, in order of the first line.
    """

    lines: int
    hits: Mapping[str, Hit]

    def has(self, *names: str) -> bool:
        """Whether at least one of these signatures found something."""
        return any(name in self.hits for name in names)

    def last(self, *names: str) -> int:
        """The last line that one of these signatures found; 0 when none did."""
        return max((self.hits[name].last for name in names if name in self.hits), default=0)

    def first(self, *names: str) -> int:
        """The first line that one of these signatures found; 0 when none did."""
        return min((self.hits[name].first for name in names if name in self.hits), default=0)

    def captures(self, *groups: str) -> tuple[str, ...]:
        """What groups of these names captured, in the order of the hits."""
        return tuple(text for hit in self.hits.values() for group in groups for text in hit.captures(group))

    def releases(self, *groups: str) -> tuple[Release, ...]:
        """What groups of these names captured, as far as it is a release."""
        found = (release_of(text.rstrip(".")) for text in self.captures(*groups))
        return tuple(release for release in found if release is not None)

    def outcome_kind(self) -> tuple[Hit, ...]:
        """The hits whose `only_with` and `not_with` hold."""
        return tuple(hit for hit in self.hits.values() if self._stands(hit.signature))

    def of(self, role: Role) -> tuple[Hit, ...]:
        """The standing hits of one role."""
        return tuple(hit for hit in self.outcome_kind() if hit.signature.role is role)

    def _stands(self, signature: Signature) -> bool:
        wanted = not signature.only_with or self.has(*signature.only_with)
        return wanted and not self.has(*signature.not_with)
