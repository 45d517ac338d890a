"""Libraries that the shared libraries of a wheel need, read while they are streamed.

The table with the offsets of the names is late in a library, and the names are early, or at its very end after
patchelf. So the table and the end are recorded in passing, and the beginning is unpacked again as far as necessary.

Source: System V ABI, chapters 4 and 5, https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import BinaryIO

from envbuilder.core.files import CHUNK
from envbuilder.image.layers.entries import Entry, Spliced
from envbuilder.image.layers.inflate import Reader

IS_LIBRARY = re.compile(r"(?:.*/)?(?P<name>[^/]+\.so(?:\.[^/]*)?)")
_HEADER_BYTES = 4096
_ELF64 = b"\x7fELF\x02\x01"
_LOAD, _DYNAMIC = 1, 2
_END, _NEEDED, _STRTAB = 0, 1, 5
_LONGEST_NAME = 256
_LARGEST_DYNAMIC = 1 << 20


@dataclass(slots=True)
class Tap:
    """Records one library as it is streamed; afterwards it knows the offsets of the names of required libraries."""

    _seen: int = 0
    _head: bytearray = field(default_factory=bytearray)
    _segments: tuple[tuple[int, int, int, int], ...] | None = None
    _wanted: tuple[int, int] = (0, 0)
    _dynamic: bytearray = field(default_factory=bytearray)
    _tail: tuple[bytes, bytes] = (b"", b"")

    def __call__(self, data: bytes) -> None:
        """Process the next bytes."""
        start = self._seen
        self._seen += len(data)
        self._tail = (self._tail[1], data)
        if self._segments is None:
            self._head += data[: _HEADER_BYTES - len(self._head)]
            if len(self._head) < _HEADER_BYTES:
                return
            self._read_head()
        first, last = self._wanted
        if start < last and self._seen > first:
            self._dynamic += data[max(first - start, 0) : last - start]

    def places(self) -> tuple[int, ...]:
        """Return the file offsets of the names; empty for a file that is not a 64-bit library."""
        if self._segments is None:  # The whole file is shorter than the recorded head.
            self._read_head()
            self._dynamic = self._head[slice(*self._wanted)]
        offsets, table = [], 0
        for tag, value in struct.iter_unpack("<qQ", self._dynamic[: len(self._dynamic) // 16 * 16]):
            if tag == _END:
                break
            if tag == _NEEDED:
                offsets.append(value)
            elif tag == _STRTAB:
                table = value
        start = self._in_file(table)
        return tuple(start + offset for offset in offsets) if start is not None else ()

    def at_end(self, place: int) -> bytes:
        """Return the bytes at an offset in the last MiB; empty for one before."""
        tail = b"".join(self._tail)
        start = place - self._seen + len(tail)
        return tail[start : start + _LONGEST_NAME] if start >= 0 else b""

    def _read_head(self) -> None:
        self._segments = tuple(_segments(bytes(self._head)))
        for kind, place, _, length in self._segments:
            if kind == _DYNAMIC:
                self._wanted = (place, place + min(length, _LARGEST_DYNAMIC))

    def _in_file(self, address: int) -> int | None:
        for kind, place, start, length in self._segments or ():
            if kind == _LOAD and start <= address < start + length:
                return address - start + place
        return None


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
    tap = Tap()
    while data := stream.read(CHUNK):
        tap(data)
    found = []
    for place in tap.places():
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


def _segments(head: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield type, file offset, address and size in the file of each segment."""
    if not head.startswith(_ELF64) or len(head) < 64:
        return
    (offset,) = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<HH", head, 54)
    for index in range(count):
        at = offset + index * size
        if at + 56 > len(head):
            return
        kind, _, place, address, _, length, _, _ = struct.unpack_from("<IIQQQQQQ", head, at)
        yield kind, place, address, length
