"""Reader of fatbins, the containers of GPU code: their entries, and the headers of PTX in them.

Source: no public specification; the layout as read by free counterparts of cuobjdump,
https://github.com/RWTH-ACS/cricket (cpu-elf2.c) and
https://github.com/vosen/ZLUDA (cuda_types/src/dark_api.rs), verified with TensorFlow wheels of CUDA 8.0 to 12.5,
2026-11-21.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import BinaryIO

from envbuilder.core.corrupt_file import Damaged
from envbuilder.core.versions import Release
from envbuilder.curation.wheel_audit.lz4 import unpack_start

MAGIC = b"\x50\xed\x55\xba"

_FATBIN = struct.Struct("<4sHHQ")
_ENTRY = struct.Struct("<HHIQIIHHI8xQ8xQ")
_VERSION = 1
_LZ4, _ZSTD = 0x2000, 0x8000
_PTX_START = 2048
_PTX_VERSION = re.compile(rb"^\s*\.version\s+(\d{1,3}\.\d{1,3})\s*$", re.MULTILINE)
_PTX_TARGET = re.compile(rb"^\s*\.target\s+(sm_\d{1,4}[a-z]?)\b", re.MULTILINE)


class GpuCodeKind(IntEnum):
    """Kinds of entries that are distinguished; others (LTO code) are skipped."""

    PTX = 1
    MACHINE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class FatbinEntry:
    """One piece of GPU code in a fatbin.

    Attributes:
        kind: One of `GpuCodeKind`, or another number.
        capability: Compute capability that it is for.
        payload: Offset of its code in the file.
        length: Bytes of the code as it is stored.
        flags: Bit 13: packed with LZ4; bit 15: with zstd.
    """

    kind: int
    capability: Release
    payload: int
    length: int
    flags: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fatbin:
    """One fatbin.

    Attributes:
        start: Offset of its header in the file.
        end: The byte after it.
        entries: In file order.
    """

    start: int
    end: int
    entries: tuple[FatbinEntry, ...]


def read_fatbin(stream: BinaryIO, start: int, limit: int) -> Fatbin | None:
    """Read the fatbin with its magic number at `start`.

    Args:
        stream: The file.
        start: Offset of the magic number.
        limit: End of its section.

    Returns:
        None if these four bytes are not a fatbin: the runtime's own code has them too, as a constant.

    Raises:
        Damaged: It is a fatbin, and its entries do not fit into it.
    """
    stream.seek(start)
    header = stream.read(_FATBIN.size)
    if len(header) < _FATBIN.size or start + _FATBIN.size > limit:
        return None
    magic, version, size, length = _FATBIN.unpack(header)
    end = start + size + length
    if (magic, version, size) != (MAGIC, _VERSION, _FATBIN.size) or end > limit:
        return None
    return Fatbin(start=start, end=end, entries=tuple(_entries(stream, start + size, end)))


def _entries(stream: BinaryIO, at: int, end: int) -> Iterator[FatbinEntry]:
    while at < end:
        stream.seek(at)
        header = stream.read(_ENTRY.size)
        if len(header) < _ENTRY.size or at + _ENTRY.size > end:
            raise Damaged(f"a fatbin with an entry at byte {at} that is cut off")
        kind, _, size, length, packed, _, _, _, arch, flags, _ = _ENTRY.unpack(header)
        after = at + size + length
        if size < _ENTRY.size or after > end or packed > length:
            raise Damaged(f"a fatbin with an entry at byte {at} that does not fit into it")
        yield FatbinEntry(
            kind=kind,
            capability=Release(f"{arch // 10}.{arch % 10}"),
            payload=at + size,
            length=packed or length,
            flags=flags,
        )
        at = after


def read_ptx(stream: BinaryIO, entry: FatbinEntry) -> tuple[Release, str] | None:
    """Return language version and target of the PTX of an entry.

    Returns:
        As `read_ptx_header`; None if it cannot be read: packed with zstd (CUDA 12.8 and later may), or without PTX
        directives.

    Raises:
        Damaged: It is packed with LZ4, and the block is damaged.
    """
    if entry.flags & _ZSTD:
        return None
    stream.seek(entry.payload)
    start = stream.read(min(entry.length, _PTX_START))
    return read_ptx_header(unpack_start(start, _PTX_START) if entry.flags & _LZ4 else start)


def read_ptx_header(text: bytes) -> tuple[Release, str] | None:
    r"""Return the version of the language and the target of a PTX text, by the directives at its beginning.

    Returns:
        None if they are missing.

    Source: https://docs.nvidia.com/cuda/parallel-thread-execution/, module directives: `.version` comes first, then
    `.target`.

    Example:
        >>> read_ptx_header(b"//\n.version 8.5\n.target sm_90a\n.address_size 64\n")
        (Release(text='8.5'), 'sm_90a')
    """
    version, target = _PTX_VERSION.search(text), _PTX_TARGET.search(text)
    return (Release(version[1].decode()), target[1].decode()) if version and target else None
