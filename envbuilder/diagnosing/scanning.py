"""A stream of bytes to evidence: fast over what says nothing, bounded in memory whatever the log holds.

Lines that differ only in digits and punctuation are looked at once; whether one has an anchor is remembered. Of lines
that have one, the first of a kind are read in full and the others counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from envbuilder.diagnosing.decoding import LONGEST_TEXT, OVERLAP, Block, blocks, clean
from envbuilder.diagnosing.evidence import Evidence, Hit, Sample
from envbuilder.diagnosing.gate import Gate, gate, key_of
from envbuilder.model.failures import Failures, Signature

_READ_IN_FULL = 24
_FIRST_SAMPLES = 16
_LAST_SAMPLES = 8
_KINDS = 60_000
_KIND_BYTES = 12_000_000
_LONGEST_KIND = 2000


@dataclass(slots=True)
class _Kind:
    """Lines with one key: how many more to read in full, and what they were evidence of."""

    left: int = _READ_IN_FULL
    found: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Tally:
    signature: Signature
    count: int = 0
    last: int = 0
    head: list[Sample] = field(default_factory=list)
    tail: list[Sample] = field(default_factory=list)

    def add(self, sample: Sample) -> None:
        self.count += 1
        self.last = sample.line
        if len(self.head) < _FIRST_SAMPLES:
            self.head.append(sample)
        else:
            self.tail = [*self.tail[1 - _LAST_SAMPLES :], sample]

    def hit(self) -> Hit:
        return Hit(signature=self.signature, count=self.count, last=self.last, samples=(*self.head, *self.tail))


def scan(failures: Failures, read: Callable[[int], bytes]) -> Evidence:
    """Read a log to its end.

    Args:
        failures: The signatures.
        read: Gives at most that many bytes, and none at the end.
    """
    scanner = Scanner(failures)
    for block in blocks(read):
        scanner.feed(block)
    return scanner.evidence()


class Scanner:
    """Collects evidence block by block."""

    def __init__(self, failures: Failures) -> None:
        self._gate: Gate = gate(failures.signatures)
        self._patterns = {each.id: re.compile(each.pattern) for each in failures.signatures}
        self._kinds: dict[bytes, _Kind | None] = {}
        self._kind_bytes = 0
        self._tallies: dict[str, _Tally] = {}
        self._lines = 0

    def feed(self, block: Block) -> None:
        """Look at the lines of one block."""
        keys = key_of(block.data).split(b"\n")
        lines = block.data.split(b"\n")
        kinds = self._kinds
        for place, key in enumerate(keys):
            if key in kinds:
                kind = kinds[key]
                if kind is None:
                    continue
            else:
                kind = self._new_kind(key)
                if kind is None:
                    continue
            self._look(kind, block.first + place, lines[place])
        self._lines = block.first + len(lines) - 1
        if len(kinds) > _KINDS or self._kind_bytes > _KIND_BYTES:
            # What is forgotten is looked at again: slower, and never wrong.
            kinds.clear()
            self._kind_bytes = 0

    def evidence(self) -> Evidence:
        """All that was found so far."""
        hits = sorted((tally.hit() for tally in self._tallies.values()), key=lambda hit: (hit.first, hit.signature.id))
        return Evidence(lines=self._lines, hits={hit.signature.id: hit for hit in hits})

    def _new_kind(self, key: bytes) -> _Kind | None:
        kind = _Kind() if self._gate.any.search(key) else None
        if len(key) <= _LONGEST_KIND:
            self._kinds[key] = kind
            self._kind_bytes += len(key)
        return kind

    def _look(self, kind: _Kind, number: int, line: bytes) -> None:
        if kind.left <= 0:
            for name in kind.found:
                self._tallies[name].count += 1
                self._tallies[name].last = number
            return
        kind.left -= 1
        found = frozenset(name for piece in _pieces(line) for name in self._match(number, piece))
        kind.found |= found

    def _match(self, number: int, piece: bytes) -> Iterator[str]:
        opened = self._gate.open_to(key_of(piece))
        if not opened:
            return
        text = clean(piece)
        for signature in opened:
            match = self._patterns[signature.id].search(text)
            if match is None:
                continue
            captured = {name: value.strip() for name, value in match.groupdict().items() if value}
            tally = self._tallies.setdefault(signature.id, _Tally(signature=signature))
            if tally.last != number or captured:
                tally.add(Sample(line=number, text=_shown(text, match.start()), captured=captured))
            yield signature.id


def _pieces(line: bytes) -> Iterator[bytes]:
    """The states of a progress bar; a long one in overlapping pieces."""
    for state in line.split(b"\r") if b"\r" in line else (line,):
        if len(state) <= LONGEST_TEXT:
            yield state
            continue
        for start in range(0, len(state), LONGEST_TEXT - OVERLAP):
            yield state[start : start + LONGEST_TEXT]


def _shown(text: str, place: int, width: int = 400) -> str:
    """A line as it is quoted: what was found must be in it."""
    text = text.rstrip()
    start = 0 if place < width // 2 else place - width // 4
    cut = text[start : start + width].strip()
    return f"{'… ' if start else ''}{cut}{' …' if start + width < len(text) else ''}"
