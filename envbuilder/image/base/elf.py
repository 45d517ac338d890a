"""Read what a 64-bit little-endian ELF file says about other libraries, and where it looks for them."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

X86_64 = 62

_LOAD, _DYNAMIC = 1, 2
_NEEDED, _STRTAB, _STRSZ, _SONAME, _RPATH, _RUNPATH = 1, 5, 10, 14, 15, 29
_DYNSYM = 11
_GLIBC = re.compile(rb"\0GLIBC_(\d+(?:\.\d+)+)(?=\0)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Elf:
    """The dynamic section of one file.

    Attributes:
        machine: `e_machine`; 62 is x86-64.
        needed: Sonames of its libraries, in file order.
        soname: Its own; empty when it has none.
        search: Its RUNPATH, or else its RPATH; empty when it has neither.
        search_at: Offset of that text in the file; 0 when there is none.
        search_shared: Whether something else in the file uses a part of that text, so that it must not be changed.
        glibc: Versions of glibc that its symbols name, such as `2.17`, unordered and each once.
    """

    machine: int
    needed: tuple[str, ...] = ()
    soname: str = ""
    search: str = ""
    search_at: int = 0
    search_shared: bool = False
    glibc: tuple[str, ...] = ()


def is_elf(data: bytes) -> bool:
    """Whether these are the first bytes of an ELF file."""
    return data.startswith(b"\x7fELF")


def read_elf(data: bytes) -> Elf:
    """Read a whole ELF file.

    Raises:
        ValueError: It is not 64-bit little-endian ELF, or its tables point outside the file.

    Source: System V ABI, chapters 4 and 5 ("Object files", "Dynamic linking").
    """
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF file")
    try:
        return _read(data)
    except (struct.error, StopIteration, IndexError) as error:
        raise ValueError(f"a damaged ELF file ({error})") from error


def _read(data: bytes) -> Elf:
    (machine,) = struct.unpack_from("<H", data, 18)
    segments = tuple(_segments(data))
    dynamic = tuple(_dynamic(data, segments))
    if not dynamic:
        return Elf(machine=machine)
    tags = dict(dynamic)
    start = _file_offset(tags[_STRTAB], segments) if _STRTAB in tags else 0
    strings = data[start : start + tags.get(_STRSZ, 0)]
    search = tags.get(_RUNPATH, tags.get(_RPATH))
    symbols = set(_symbol_names(data))
    used = {value for tag, value in dynamic if tag in (_NEEDED, _SONAME)} | symbols
    text = _text(strings, search) if search is not None else ""
    return Elf(
        machine=machine,
        needed=tuple(_text(strings, value) for tag, value in dynamic if tag == _NEEDED),
        soname=_text(strings, tags[_SONAME]) if _SONAME in tags else "",
        search=text,
        search_at=start + search if search is not None else 0,
        # Linkers let a string be the end of another one: a symbol called `b` may live in the last letter of `/lib`.
        # Without a section that lists the symbols nobody can tell.
        search_shared=search is not None
        and (not symbols or any(search <= offset < search + len(text) for offset in used)),
        glibc=tuple(dict.fromkeys(match.decode() for match in _GLIBC.findall(strings))),
    )


def _segments(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Type, file offset, address and size in the file of each segment."""
    (offset,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for index in range(count):
        kind, _, place, address, _, length, _, _ = struct.unpack_from("<IIQQQQQQ", data, offset + index * size)
        yield kind, place, address, length


def _dynamic(data: bytes, segments: tuple[tuple[int, int, int, int], ...]) -> Iterator[tuple[int, int]]:
    for kind, place, _, length in segments:
        if kind != _DYNAMIC:
            continue
        for offset in range(place, min(place + length, len(data)), 16):
            tag, value = struct.unpack_from("<qQ", data, offset)
            if tag == 0:
                return
            yield tag, value


def _file_offset(address: int, segments: tuple[tuple[int, int, int, int], ...]) -> int:
    return next(
        address - start + place
        for kind, place, start, length in segments
        if kind == _LOAD and start <= address < start + length
    )


def _symbol_names(data: bytes) -> Iterator[int]:
    """Offsets into the string table of the names of all dynamic symbols; nothing when there are no sections."""
    (offset,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    for index in range(count):
        _, kind, _, _, place, length = struct.unpack_from("<IIQQQQ", data, offset + index * size)
        if kind == _DYNSYM:
            table = data[place : place + length - length % 24]
            yield from (name for name, _, _, _, _ in struct.iter_unpack("<IBBHQ8x", table) if name)


def _text(strings: bytes, offset: int) -> str:
    end = strings.index(b"\0", offset)
    return strings[offset:end].decode("utf-8", "surrogateescape")
