"""Scanner of a log for evidence: fast for irrelevant lines, with bounded memory for any input.

Lines that differ only in digits and punctuation are examined once, and the result is cached. Of lines
with an anchor, the first of a kind are read in full and the others counted.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from envbuilder.diagnostics.logs.decoding import LONGEST_TEXT, OVERLAP, Block, blocks, clean
from envbuilder.diagnostics.logs.evidence import Evidence, Hit, Sample
from envbuilder.diagnostics.logs.signatures import Failures, Signature

_DROPPED = b"0123456789 \t.=>-+%#&;\\'\"`*|"


def key_of(line: bytes) -> bytes:
    r"""Return a line without what differs between two lines of the same kind: digits, blanks, quotes, bars; `\n` stays.

    Example:
        >>> key_of(b"Epoch 3/10  loss: 0.25") == key_of(b"Epoch 4/10 loss: 0.125")
        True
    """
    return line.translate(None, _DROPPED)


@dataclass(frozen=True, slots=True)
class Gate:
    """The anchors of a set of signatures.

    Attributes:
        anchors: The key of each anchor, and the signatures that it opens.
        any_anchor: Finds any of these keys.
    """

    anchors: tuple[tuple[bytes, tuple[Signature, ...]], ...]
    any_anchor: re.Pattern[bytes]

    def open_to(self, key: bytes) -> tuple[Signature, ...]:
        """Return the signatures with an anchor in the key of a line, each once, by id."""
        if not self.any_anchor.search(key):
            return ()
        opened = {each.id: each for anchor, signatures in self.anchors if anchor in key for each in signatures}
        return tuple(each for _, each in sorted(opened.items()))


def gate(signatures: Iterable[Signature]) -> Gate:
    """Return the gate of these signatures."""
    opened: defaultdict[bytes, list[Signature]] = defaultdict(list)
    for signature in signatures:
        for anchor in signature.anchors:
            opened[key_of(anchor.encode())].append(signature)
    anchors = tuple((key, tuple(each)) for key, each in sorted(opened.items()))
    return Gate(anchors=anchors, any_anchor=_compiled(tuple(key for key, _ in anchors)))


@lru_cache(maxsize=4)
def _compiled(literals: tuple[bytes, ...]) -> re.Pattern[bytes]:
    """Return `_any_of` some texts, compiled; of the catalog's anchors this takes a tenth of a second."""
    return re.compile(_any_of(literals) if literals else rb"(?!)")


def _any_of(literals: Iterable[bytes]) -> bytes:
    """Return a pattern for one of some texts, with common beginnings written once.

    An alternation of whole texts takes ten times as long: `re` tries them one after the other at each place.
    """
    rest: defaultdict[bytes, list[bytes]] = defaultdict(list)
    for literal in literals:
        rest[literal[:1]].append(literal[1:])
    if b"" in rest:
        return b""
    pieces = [re.escape(first) + _any_of(following) for first, following in sorted(rest.items())]
    return b"(?:" + b"|".join(pieces) + b")" if len(pieces) > 1 else pieces[0]


_READ_IN_FULL = 24
_FIRST_SAMPLES = 16
_LAST_SAMPLES = 8
_LONGEST_SAMPLE = 400
_MOST_KINDS = 30_000
_MOST_BYTES = 4_000_000
_LONGEST_KIND = 2000
_TAIL = 3


@dataclass(slots=True)
class _Kind:
    """Lines with the same key.

    Attributes:
        opened: Signatures with an anchor in them.
        left: Number of lines that are still to be read in full.
        found: Signatures that the lines read so far matched.
    """

    opened: tuple[Signature, ...]
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
        self.last = max(self.last, sample.line)
        if len(self.head) < _FIRST_SAMPLES:
            self.head.append(sample)
        else:
            self.tail = [*self.tail[1 - _LAST_SAMPLES :], sample]

    def hit(self) -> Hit:
        return Hit(signature=self.signature, count=self.count, last=self.last, samples=(*self.head, *self.tail))


def scan(failures: Failures, read: Callable[[int], bytes]) -> Evidence:
    """Read a log to its end; `read` returns at most that many bytes, and none at the end."""
    scanner = Scanner(failures)
    for block in blocks(read):
        scanner.feed(block)
    return scanner.evidence()


class Scanner:
    """Collects evidence block by block."""

    def __init__(self, failures: Failures) -> None:
        self._gate: Gate = gate([each for each in failures.signatures if not each.at_end])
        self._at_end = tuple(each for each in failures.signatures if each.at_end)
        self._tail: deque[tuple[int, bytes]] = deque(maxlen=_TAIL)
        self._patterns = {each.id: re.compile(each.pattern) for each in failures.signatures}
        self._dull: set[bytes] = set()
        self._dull_bytes = 0
        self._kinds: dict[bytes, _Kind] = {}
        self._tallies: dict[str, _Tally] = {}
        self._lines = 0

    def feed(self, block: Block) -> None:
        """Examine the lines of one block."""
        keys = key_of(block.data).split(b"\n")
        lines = block.data.split(b"\n")
        self._lines = block.first + len(lines) - 1
        self._keep_tail(block.first, lines)
        present = set(keys)
        fresh = present - self._dull - self._kinds.keys()
        if fresh:
            self._sort_out(fresh)
        telling = present & self._kinds.keys()
        if not telling:
            return
        whole = {key for key in telling if self._kinds[key].left > 0}
        for place, key in enumerate(keys) if whole else ():
            if key in whole:
                self._look(self._kinds[key], block.first + place, lines[place])
        if telling - whole:
            self._count(telling - whole, keys, block.first)

    def evidence(self) -> Evidence:
        """Return all evidence so far, with the end of the log as far as it was read."""
        for number, line in self._tail:
            for piece in _pieces(line):
                list(self._match(number, piece, self._at_end))
        hits = sorted((tally.hit() for tally in self._tallies.values()), key=lambda hit: (hit.first, hit.signature.id))
        return Evidence(lines=self._lines, hits={hit.signature.id: hit for hit in hits})

    def _keep_tail(self, first: int, lines: list[bytes]) -> None:
        """Remember the last lines that are not blank."""
        found: list[tuple[int, bytes]] = []
        for place in range(len(lines) - 1, -1, -1):
            if lines[place].strip():
                found.append((first + place, lines[place][-OVERLAP:]))
            if len(found) == _TAIL:
                break
        self._tail.extend(reversed(found))

    def _sort_out(self, fresh: set[bytes]) -> None:
        """Separate kinds of lines with an anchor from those without."""
        if len(self._dull) > _MOST_KINDS or self._dull_bytes > _MOST_BYTES:
            # Evicted kinds are examined again: slower, with the same result.
            self._dull.clear()
            self._dull_bytes = 0
        if len(self._kinds) > _MOST_KINDS:
            self._kinds.clear()
        for key in fresh:
            if opened := self._gate.open_to(key):
                self._kinds[key] = _Kind(opened=opened)
        dull = fresh - self._kinds.keys()
        self._dull |= {key for key in dull if len(key) <= _LONGEST_KIND}
        self._dull_bytes += sum(map(len, dull))

    def _count(self, often: set[bytes], keys: list[bytes], first: int) -> None:
        """Count lines of kinds that were read often enough."""
        counts = Counter(keys)
        last = dict(zip(keys, range(first, first + len(keys)), strict=True))
        for key in often:
            for name in self._kinds[key].found:
                self._tallies[name].count += counts[key]
                self._tallies[name].last = max(self._tallies[name].last, last[key])

    def _look(self, kind: _Kind, number: int, line: bytes) -> None:
        kind.left -= 1
        if len(line) <= LONGEST_TEXT and b"\r" not in line:
            kind.found |= frozenset(self._match(number, line, kind.opened))
            return
        # A long line is a kind of its own; its matches are known after its pieces were examined.
        pieces = ((piece, self._gate.open_to(key_of(piece))) for piece in _pieces(line))
        kind.found |= frozenset(name for piece, opened in pieces for name in self._match(number, piece, opened))

    def _match(self, number: int, piece: bytes, opened: tuple[Signature, ...]) -> Iterator[str]:
        if not opened:
            return
        text = clean(piece)
        for signature in opened:
            match = self._patterns[signature.id].search(text)
            if match is None:
                continue
            captured = {name: value.strip().rstrip(".") for name, value in match.groupdict().items() if value}
            tally = self._tallies.setdefault(signature.id, _Tally(signature=signature))
            if tally.last != number or captured:
                tally.add(Sample(line=number, text=_shown(text, match.start()), captured=captured))
            yield signature.id


def _pieces(line: bytes) -> Iterator[bytes]:
    """Yield the states of a progress bar; a long one in overlapping pieces."""
    for state in line.split(b"\r") if b"\r" in line else (line,):
        if len(state) <= LONGEST_TEXT:
            yield state
            continue
        for start in range(0, len(state), LONGEST_TEXT - OVERLAP):
            yield state[start : start + LONGEST_TEXT]


def _shown(text: str, place: int) -> str:
    """Return a line as it is quoted; the match must be in it."""
    text = text.rstrip()
    start = 0 if place < _LONGEST_SAMPLE // 2 else text.rfind(" ", 0, place) + 1
    cut = text[start : start + _LONGEST_SAMPLE].strip()
    return f"{'… ' if start else ''}{cut}{' …' if start + _LONGEST_SAMPLE < len(text) else ''}"
