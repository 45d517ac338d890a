"""Which lines of a log are worth a look, told from their words.

Each anchor is stood for by four letters in a row (or by a whole word of three) out of one of its words. Whether a word
has such letters is asked once for each word; logs have few different words, however long they are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from envbuilder.model.failures import Signature

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
_MOST_WORDS = 200_000
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
        known: What was found out about words: the anchors that each may belong to.
    """

    grams: dict[bytes, tuple[_Anchor, ...]]
    known: dict[bytes, tuple[_Anchor, ...]] = field(default_factory=dict)

    def telling(self, lines: bytes) -> frozenset[bytes]:
        """The words in these lines that may belong to an anchor."""
        return frozenset(filter(self._anchors, set(lines.translate(_WORDS).split())))

    def open_to(self, line: bytes, telling: frozenset[bytes] | None = None) -> tuple[Signature, ...]:
        """The signatures with an anchor in the line, each once.

        Args:
            line: The line.
            telling: Words to look for, where they are known.
        """
        words: Iterable[bytes] = line.translate(_WORDS).split()
        if telling is not None:
            words = telling.intersection(words)
        likely = {anchor for word in words for anchor in self._anchors(word)}
        key = key_of(line) if likely else b""
        opened = {each.id: each for anchor in likely if anchor.key in key for each in anchor.opened}
        return tuple(opened[name] for name in sorted(opened))

    def _anchors(self, word: bytes) -> tuple[_Anchor, ...]:
        if len(word) > _LONGEST_WORD:
            # No word of any message, and too long to be remembered.
            return ()
        found = self.known.get(word)
        if found is None:
            if len(self.known) > _MOST_WORDS:
                self.known.clear()
            found = self.known[word] = self._looked_up(word)
        return found

    def _looked_up(self, word: bytes) -> tuple[_Anchor, ...]:
        grams = self.grams
        if len(word) < _GRAM:
            return grams.get(word, ())
        pieces = {word[start : start + _GRAM] for start in range(len(word) - _GRAM + 1)}
        return tuple(anchor for piece in pieces & grams.keys() for anchor in grams[piece] if anchor.word in word)


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
    return Gate(grams={letters: tuple(anchors) for letters, anchors in grams.items()})


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
