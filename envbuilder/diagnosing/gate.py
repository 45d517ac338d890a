"""Which lines of a log are worth a look: one regular expression over all anchors of all signatures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from envbuilder.model.failures import Signature

_DROPPED = b"0123456789 \t.=>-+%#\\'\"`*|"
# Frequent characters of logs, most frequent first. An anchor is searched from its rarest character on: fewer starts.
_COMMON = b"etaoinsrldcupmhgfy_/:bwv"


def key_of(line: bytes) -> bytes:
    r"""A line without what differs between two lines of the same kind: digits, blanks, quotes, bars; `\n` stays.

    Example:
        >>> key_of(b"Epoch 3/10  loss: 0.25") == key_of(b"Epoch 4/10 loss: 0.125")
        True
    """
    return line.translate(None, _DROPPED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The anchors of a set of signatures.

    Attributes:
        any: Finds a line that may have an anchor.
        table: Each anchor as a key, with the signatures that it opens.
    """

    any: re.Pattern[bytes]
    table: tuple[tuple[bytes, tuple[Signature, ...]], ...]

    def open_to(self, key: bytes) -> tuple[Signature, ...]:
        """The signatures with an anchor in the line with this key, each once."""
        return tuple({each.id: each for anchor, opened in self.table if anchor in key for each in opened}.values())


@dataclass(slots=True)
class _Node:
    ends: bool = False
    after: dict[int, _Node] = field(default_factory=dict)


def gate(signatures: Iterable[Signature]) -> Gate:
    """The gate of these signatures."""
    opened: dict[bytes, list[Signature]] = {}
    for signature in signatures:
        for anchor in signature.anchors:
            opened.setdefault(key_of(anchor.encode()), []).append(signature)
    root = _Node()
    for anchor in opened:
        node = root
        for letter in _rare_end(anchor):
            node = node.after.setdefault(letter, _Node())
        node.ends = True
    table = tuple((anchor, tuple(each)) for anchor, each in sorted(opened.items()))
    return Gate(any=re.compile(_expression(root)), table=table)


def _rare_end(anchor: bytes) -> bytes:
    """The end of an anchor from its rarest character on, at least four characters long."""
    starts = range(max(1, len(anchor) - 4))
    return anchor[min(starts, key=lambda start: (-_rarity(anchor[start]), start)) :]


def _rarity(letter: int) -> int:
    place = _COMMON.find(letter)
    return len(_COMMON) if place < 0 else place


def _expression(node: _Node) -> bytes:
    if node.ends or not node.after:
        return b""
    branches = [re.escape(bytes([letter])) + _expression(after) for letter, after in sorted(node.after.items())]
    return branches[0] if len(branches) == 1 else b"(?:" + b"|".join(branches) + b")"
