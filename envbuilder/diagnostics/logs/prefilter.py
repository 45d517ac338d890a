"""Fast search for the lines of a log that contain an anchor of a signature."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from envbuilder.diagnostics.logs.signatures import Signature

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
    return Gate(anchors=anchors, any_anchor=re.compile(_any_of(opened) if opened else rb"(?!)"))


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
