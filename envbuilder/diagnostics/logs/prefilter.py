"""Which lines of a log are worth a look, told from their words.

Each anchor is stood for by four letters in a row (or by a whole word of three) out of one of its words. Whether a word
has such letters is asked once for each word; logs have few different words, however long they are.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from envbuilder.diagnostics.logs.signatures import Signature

_DROPPED = b"0123456789 \t.=>-+%#&;\\'\"`*|"
_WORDS = bytes(byte if byte == 10 or (chr(byte).isalpha() and byte < 128) else 32 for byte in range(256))
_RUN = re.compile(rb"[A-Za-z]+")
_GRAM = 4
# Letters of logs, most frequent first: letters that are rare stand for an anchor better.
_COMMON = b"etaoinsrldcupmhgfybwv"
# Words of ordinary logs stand for an anchor only where it has no other.
_ORDINARY = frozenset(
    b"accuracy batch cannot client code data device epoch error errors failed file files from index input kernel layer "
    b"library line load loading loss memory model module name process python read reading run running server size "
    b"step steps table task tensor tensorflow the time train training type value values version warning with worker "
    b"write writing your".split()
)
_MOST_BYTES = 1_000_000
_MOST_KNOWN = 50_000
_LONGEST_WORD = 80


@dataclass(frozen=True, slots=True, eq=False)
class _Anchor:
    """An anchor: the word in it that stands for it, the whole of it as a key, and the signatures that it opens."""

    word: bytes
    key: bytes
    opened: tuple[Signature, ...]


def key_of(line: bytes) -> bytes:
    r"""A line without what differs between two lines of the same kind: digits, blanks, quotes, bars; `\n` stays.

    Example:
        >>> key_of(b"Epoch 3/10  loss: 0.25") == key_of(b"Epoch 4/10 loss: 0.125")
        True
    """
    return line.translate(None, _DROPPED)


@dataclass(slots=True)
class Gate:
    """The anchors of a set of signatures.

    Attributes:
        grams: Anchors by the letters that stand for them.
        letters: Finds any of these letters.
        known: The words that were met and may belong to anchors, with these.
        dull: Words that were met and belong to none.
    """

    grams: dict[bytes, tuple[_Anchor, ...]]
    letters: re.Pattern[bytes]
    known: dict[bytes, tuple[_Anchor, ...]] = field(default_factory=dict)
    dull: set[bytes] = field(default_factory=set)
    _dull_bytes: int = 0

    def telling(self, lines: bytes) -> frozenset[bytes]:
        """The words in these lines that may belong to an anchor."""
        if len(self.known) > _MOST_KNOWN:
            self.known.clear()
        words = set(lines.translate(_WORDS).split())
        fresh = words - self.dull - self.known.keys()
        if fresh:
            self._sort_out(fresh)
        return frozenset(words & self.known.keys())

    def open_to(self, line: bytes) -> tuple[Signature, ...]:
        """The signatures with an anchor in the line, each once."""
        return self.open_to_kinds([key_of(line)], line).get(0, ())

    def open_to_kinds(self, keys: Sequence[bytes], lines: bytes) -> dict[int, tuple[Signature, ...]]:
        """The signatures with an anchor in each of some kinds of lines, by its place; those with none are left out.

        Args:
            keys: What `key_of` leaves of a line of each kind.
            lines: A line of each kind, with their words.
        """
        likely = {anchor for word in self.telling(lines) for anchor in self.known[word]}
        if not likely:
            return {}
        joined = b"\n".join(keys)
        starts = [0, *accumulate(len(key) + 1 for key in keys)]
        opened: defaultdict[int, dict[str, Signature]] = defaultdict(dict)
        for anchor in likely:
            found = joined.find(anchor.key)
            while found >= 0:
                place = bisect_right(starts, found) - 1
                opened[place].update((each.id, each) for each in anchor.opened)
                found = joined.find(anchor.key, starts[place + 1])
        return {place: tuple(each for _, each in sorted(found.items())) for place, found in opened.items()}

    def _sort_out(self, fresh: set[bytes]) -> None:
        """Tell words that may belong to an anchor from those that belong to none."""
        joined = b" ".join(fresh)
        for word in (fresh & self.grams.keys()).union(_words_around(self.letters, joined)):
            # A longer word is none of any message.
            found = self._looked_up(word) if len(word) <= _LONGEST_WORD else ()
            if found:
                self.known[word] = found
        self._dull_bytes += len(joined)
        if self._dull_bytes > _MOST_BYTES:
            # What is forgotten is looked at again; a word longer than all that is not remembered at all.
            self.dull.clear()
            self._dull_bytes = len(joined)
        if self._dull_bytes <= _MOST_BYTES:
            self.dull |= fresh - self.known.keys()

    def _looked_up(self, word: bytes) -> tuple[_Anchor, ...]:
        grams = self.grams
        if len(word) < _GRAM:
            return grams.get(word, ())
        pieces = {word[start : start + _GRAM] for start in range(len(word) - _GRAM + 1)}
        return tuple(anchor for piece in pieces & grams.keys() for anchor in grams[piece] if anchor.word in word)


def _words_around(letters: re.Pattern[bytes], joined: bytes) -> Iterator[bytes]:
    """The words of a text, set apart by blanks, in which these letters are."""
    end = 0
    for match in letters.finditer(joined):
        if match.start() >= end:
            start = joined.rfind(b" ", end, match.start()) + 1 or end
            end = joined.find(b" ", match.end())
            end = len(joined) if end < 0 else end
            yield joined[start:end]


def _any_of(literals: Iterable[bytes]) -> bytes:
    """A pattern for one of some texts of the same length, with what they begin with written once."""
    rest: defaultdict[bytes, list[bytes]] = defaultdict(list)
    for literal in literals:
        rest[literal[:1]].append(literal[1:])
    pieces = [first + (_any_of(following) if first else b"") for first, following in sorted(rest.items())]
    return b"(?:" + b"|".join(pieces) + b")" if len(pieces) > 1 else pieces[0]


def gate(signatures: Iterable[Signature]) -> Gate:
    """The gate of these signatures."""
    opened: dict[bytes, list[Signature]] = {}
    for signature in signatures:
        for anchor in signature.anchors:
            opened.setdefault(anchor.encode(), []).append(signature)
    grams: defaultdict[bytes, list[_Anchor]] = defaultdict(list)
    for literal, each in sorted(opened.items()):
        word, letters = _stand_in(literal)
        grams[letters].append(_Anchor(word=word, key=key_of(literal), opened=tuple(each)))
    found = {letters: tuple(anchors) for letters, anchors in grams.items()}
    longer = [letters for letters in found if len(letters) == _GRAM]
    return Gate(grams=found, letters=re.compile(_any_of(longer) if longer else rb"(?!)"))


def _stand_in(anchor: bytes) -> tuple[bytes, bytes]:
    """A word of the anchor with the rarest four letters in a row, and these; a whole word of three where it must be."""
    runs = _RUN.findall(anchor)
    telling = [run for run in runs if run.lower() not in _ORDINARY and (len(run) >= _GRAM or run.isupper())] or runs
    grams = [(run, run[start : start + _GRAM]) for run in telling for start in range(len(run) - _GRAM + 1)]
    if grams:
        return max(grams, key=lambda pair: _rarity(pair[1]))
    rarest = max(telling, key=lambda run: (len(run), _rarity(run)))
    return rarest, rarest


def _rarity(gram: bytes) -> int:
    places = [_COMMON.find(letter) for letter in gram]
    return sum(len(_COMMON) if place < 0 else place for place in places)
