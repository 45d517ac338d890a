"""Names in the dynamic table of a 64-bit ELF file: of files on disk, and of libraries as they stream by.

`core/elf.py` reads everything else, by sections. They are at the end of a file, which has to be on disk as a whole for
that, and pyelftools makes objects of their entries. Measured on two cores on 2026-11-25:

- The libraries of tf-2.15-cuda12.2, 129 files with 848 MiB, as they are unpacked from wheels: 0.04 s of CPU time here;
  0.9 to 1.6 s, and room for the largest of 538 MiB, if each is written to disk for `core/elf.py`.
- The interpreter and the modules of one Python, 77 files, for `list`: 3 ms here; 160 ms, and 54 ms to import it, there.

Source: System V ABI, chapters 4 and 5, https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

MAGIC = b"\x7fELF"
HEAD_BYTES = 4096
"""Bytes at the start of a file in which its segments are looked for."""

_MAGIC_64 = MAGIC + b"\x02\x01"
_LOAD, _DYNAMIC = 1, 2
_END, _NEEDED, _STRTAB, _STRSZ = 0, 1, 5, 10
_LARGEST_TABLE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """Segments of a file.

    Attributes:
        loaded: Address, offset in the file and size of each loaded one, in file order.
        dynamic: Offsets of the start and the end of the dynamic table; equal if there is none.
    """

    loaded: tuple[tuple[int, int, int], ...]
    dynamic: tuple[int, int]

    def in_file(self, address: int) -> int | None:
        """Return the offset of an address in the file; None if it is not loaded from the file."""
        for begin, offset, size in self.loaded:
            if begin <= address < begin + size:
                return address - begin + offset
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicNames:
    """Places of names in a file.

    Attributes:
        strings: Offset of the string table of the dynamic linker; None without one.
        size: Bytes of that table; 0 if they are not stated.
        needed: Offsets of the sonames of required libraries.
    """

    strings: int | None
    size: int
    needed: tuple[int, ...]


def segments_of(head: bytes) -> Segments:
    """Return the segments of a file; none for one that is not a 64-bit ELF file.

    Args:
        head: Its first `HEAD_BYTES`, or all of a shorter file.
    """
    found = tuple(_segments(head))
    tables = [(offset, offset + min(size, _LARGEST_TABLE)) for kind, _, offset, size in found if kind == _DYNAMIC]
    return Segments(
        loaded=tuple((address, offset, size) for kind, address, offset, size in found if kind == _LOAD),
        dynamic=tables[-1] if tables else (0, 0),
    )


def dynamic_names(segments: Segments, table: bytes) -> DynamicNames:
    """Return the places of names from the content of the dynamic table."""
    needed, values = [], {_STRTAB: 0, _STRSZ: 0}
    for tag, value in struct.iter_unpack("<qQ", table[: len(table) // 16 * 16]):
        if tag == _END:
            break
        if tag == _NEEDED:
            needed.append(value)
        elif tag in values:
            values[tag] = value
    start = segments.in_file(values[_STRTAB])
    return DynamicNames(
        strings=start,
        size=values[_STRSZ],
        needed=() if start is None else tuple(start + offset for offset in needed),
    )


def read_dynamic_names(stream: BinaryIO) -> DynamicNames:
    """Return the places of names in a seekable file.

    Raises:
        OSError, ValueError, OverflowError: The file is damaged and names an offset that no file has.
    """
    segments = segments_of(stream.read(HEAD_BYTES))
    start, end = segments.dynamic
    stream.seek(start)
    return dynamic_names(segments, stream.read(end - start))


def _segments(head: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yield type, address, offset and size in the file of each segment."""
    if not head.startswith(_MAGIC_64) or len(head) < 64:
        return
    (offset,) = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<HH", head, 54)
    for index in range(count):
        at = offset + index * size
        if at + 56 > len(head):
            return
        kind, _, place, address, _, length, _, _ = struct.unpack_from("<IIQQQQQQ", head, at)
        yield kind, address, place, length
