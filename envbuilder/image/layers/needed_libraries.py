"""Libraries that the shared libraries of a wheel need, read while they are streamed.

The table with the offsets of the names is late in a library, and the names are early, or at its very end after
patchelf. So the table and the end are recorded in passing, and the beginning is unpacked again as far as necessary.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from typing import BinaryIO

from envbuilder.core.elf_segments import HEAD_BYTES, Segments, dynamic_names, read_dynamic_names, segments_of
from envbuilder.image.layers.entries import Entry, Spliced
from envbuilder.image.layers.inflate import Reader

IS_LIBRARY = re.compile(r"(?:.*/)?(?P<name>[^/]+\.so(?:\.[^/]*)?)")
_LONGEST_NAME = 256


@dataclass(slots=True)
class Tap:
    """Records one library as it is streamed; afterwards it knows the offsets of the names of required libraries."""

    _seen: int = 0
    _head: bytearray = field(default_factory=bytearray)
    _segments: Segments | None = None
    _dynamic: bytearray = field(default_factory=bytearray)
    _tail: tuple[bytes, bytes] = (b"", b"")

    def __call__(self, data: bytes) -> None:
        """Process the next bytes."""
        start = self._seen
        self._seen += len(data)
        self._tail = (self._tail[1], data)
        if self._segments is None:
            self._head += data[: HEAD_BYTES - len(self._head)]
            if len(self._head) < HEAD_BYTES:
                return
            self._segments = segments_of(bytes(self._head))
        first, last = self._segments.dynamic
        if start < last and self._seen > first:
            self._dynamic += data[max(first - start, 0) : last - start]

    def places(self) -> tuple[int, ...]:
        """Return the file offsets of the names; empty for a file that is not a 64-bit library."""
        if self._segments is None:  # The whole file is shorter than the recorded head.
            self._segments = segments_of(bytes(self._head))
            self._dynamic = self._head[slice(*self._segments.dynamic)]
        return dynamic_names(self._segments, bytes(self._dynamic)).needed

    def at_end(self, place: int) -> bytes:
        """Return the bytes at an offset in the last MiB; empty for one before."""
        tail = b"".join(self._tail)
        start = place - self._seen + len(tail)
        return tail[start : start + _LONGEST_NAME] if start >= 0 else b""


def needed(entry: Entry, tap: Tap) -> frozenset[str]:
    """Return the sonames that a library requires.

    Args:
        entry: The library, which is spliced.
        tap: Has processed all of it.
    """
    found = {place: tap.at_end(place) for place in tap.places()}
    early = [place for place, text in found.items() if not text]
    if early and entry.spliced is not None:
        found |= _read_places(entry.spliced, entry.member.size, early)
    return _names(found.values())


def needed_by_file(stream: BinaryIO) -> frozenset[str]:
    """Return the sonames that a library on disk requires; empty for a file that is not a 64-bit library."""
    found = []
    for place in read_dynamic_names(stream).needed:
        stream.seek(place)
        found.append(stream.read(_LONGEST_NAME))
    return _names(found)


def _names(texts: Iterable[bytes]) -> frozenset[str]:
    names = (text.partition(b"\0")[0].decode("ascii", "replace") for text in texts)
    return frozenset(name for name in names if name)


def _read_places(spliced: Spliced, size: int, places: list[int]) -> dict[int, bytes]:
    """Return the bytes at some offsets, by unpacking as far as the last of them."""
    found = dict.fromkeys(places, b"")
    at, last = 0, max(places) + _LONGEST_NAME
    with closing(Reader()) as reader:
        for data in reader.inflated(spliced, size):
            for place in places:
                if place < at + len(data) and place + _LONGEST_NAME > at:
                    found[place] += data[max(place - at, 0) : place + _LONGEST_NAME - at]
            at += len(data)
            if at >= last:
                break
    return found
