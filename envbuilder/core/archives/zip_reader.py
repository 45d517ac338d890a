"""Reader of zip files with a verified directory: names, positions, sizes and number of members.

`zipfile` verifies the CRC and the size of a member when it is read; it does not detect members that overlap, or too
many members for the memory.
"""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from envbuilder.core.archives.limits import ArchiveLimits, Budget
from envbuilder.core.archives.member_names import BadArchive, relative_path
from envbuilder.core.files import CHUNK

_LOCAL_HEADER = struct.Struct("<4s22xHH")
_ENCRYPTED = 0x1
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_DEFLATE_RATIO = 1032
"""Maximum of deflate (https://zlib.net/zlib_tech.html, "Maximum Compression Factor")."""

LIMITS = ArchiveLimits(members=100_000)
"""A wheel of 150,000 empty files takes 850 MB of memory to assemble (2026-11-22)."""

_LARGEST_DIRECTORY = 32 << 20
"""Bytes of the directory; tensorflow 2.17.1 has 3.2 MB."""

_END = struct.Struct("<4s6xHI6x")
_MANY = 0xFFFF
"""Value of this field if the number of members is in a directory with 64-bit numbers."""
_END64 = struct.Struct("<4s36xQ8x")
_LOCATOR = struct.Struct("<4s4xQ4x")
BROKEN = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, struct.error,
    OverflowError, LookupError,
)  # fmt: skip
"""Exceptions of zipfile for what is no zip file, damaged, encrypted, or compressed by an unsupported method."""


@contextmanager
def opened(path: Path, limits: ArchiveLimits = LIMITS) -> Iterator[ZipContent]:
    """Open a zip file and check its whole directory.

    Raises:
        BadArchive: It is not a zip file, is damaged, or its directory is inconsistent; also from within the block.
        OSError: It cannot be read.
    """
    try:
        with path.open("rb") as stream:
            claimed = _require_small_directory(stream)
            with zipfile.ZipFile(stream) as archive:
                if claimed not in {_MANY, len(archive.infolist()) & _MANY}:
                    raise BadArchive(f"it claims {claimed} members and has {len(archive.infolist())}")
                yield ZipContent(archive, stream, Budget(path.stat().st_size, limits))
    except BROKEN as error:
        raise BadArchive(f"it cannot be read: {error or type(error).__name__}") from error


class ZipContent:
    """An open zip file with a verified directory.

    Attributes:
        archive: For reading members; CRC and size of each are verified at its end.
        members: In the order of the directory.
    """

    def __init__(self, archive: zipfile.ZipFile, stream: BinaryIO, budget: Budget) -> None:
        self.archive = archive
        self.members = tuple(archive.infolist())
        self._offsets: dict[int, int] = {}
        for info in self.members:
            _require_plain(info)
            budget.meet(info.filename, info.file_size)
            budget.spend(info.file_size)
            self._offsets[id(info)] = _content_offset(stream, info)
        if len({info.filename for info in self.members}) < len(self.members):
            raise BadArchive("it has a path twice")
        self._require_apart()

    def offset(self, info: zipfile.ZipInfo) -> int:
        """Return the offset of a member's content in the file."""
        return self._offsets[id(info)]

    def pieces(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        """Yield the content of a member in pieces of at most 1 MiB.

        Raises:
            BadArchive: It is damaged.
        """
        try:
            with self.archive.open(info) as stream:
                while piece := stream.read(CHUNK):
                    yield piece
        except BROKEN as error:
            raise BadArchive(f"{info.filename} cannot be read: {error or type(error).__name__}") from error

    def _require_apart(self) -> None:
        ordered = sorted(self.members, key=lambda info: info.header_offset)
        ends = [self._offsets[id(info)] + info.compress_size for info in ordered]
        starts = [*(info.header_offset for info in ordered), self.archive.start_dir]
        for after, end, info in zip(starts[1:], ends, ordered, strict=True):
            if end > after:
                raise BadArchive(f"{info.filename!r} overlaps with what follows it")


def _require_plain(info: zipfile.ZipInfo) -> None:
    name = info.filename
    # zipfile truncates a name at NUL, and from Python 3.12 on replaces it by that of an extra field:
    # https://github.com/python/cpython/issues/86094
    if name != info.orig_filename:
        raise BadArchive(f"the path {info.orig_filename!r} has a second form {name!r}")
    if "\\" in name:
        raise BadArchive(f"the path {name!r} has a backslash")
    if (relative_path(name) == "." or name.startswith("./")) and not info.is_dir():
        raise BadArchive(f"the path {name!r} is not a file")
    if info.flag_bits & _ENCRYPTED:
        raise BadArchive(f"{name} is encrypted")
    if info.compress_type not in _METHODS:
        raise BadArchive(f"{name} is packed by method {info.compress_type}; only 0 and 8 are in use")
    if info.compress_type == zipfile.ZIP_STORED and info.compress_size != info.file_size:
        raise BadArchive(f"{name} is stored in {info.compress_size} bytes and claims {info.file_size}")
    if info.file_size > info.compress_size * _DEFLATE_RATIO:
        raise BadArchive(f"{name} claims {info.file_size} bytes in {info.compress_size}, more than deflate can pack")


def _content_offset(stream: BinaryIO, info: zipfile.ZipInfo) -> int:
    if info.header_offset < 0:  # zipfile's value if the beginning of a file is missing
        raise BadArchive(f"{info.filename} lies before the beginning of the file")
    stream.seek(info.header_offset)
    signature, name_size, extra_size = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
    if signature != b"PK\x03\x04":
        raise BadArchive(f"{info.filename} is not where the directory says")
    # The extra fields before the content may differ from those of the directory, but not its name.
    if stream.read(name_size) != info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437"):
        raise BadArchive(f"{info.filename} has another name where it lies")
    return int(info.header_offset + _LOCAL_HEADER.size + name_size + extra_size)


def _require_small_directory(stream: BinaryIO) -> int:
    """Check the size of the directory at the end of a zip file, before zipfile reads all of it.

    Returns:
        Stated number of members, modulo 65,536; 65,535 if the number is in another record.
    """
    claimed = _MANY
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - (1 << 16) - _END.size - _LOCATOR.size - _END64.size))
    tail = stream.read()
    at = tail.rfind(b"PK\x05\x06")
    if 0 <= at <= len(tail) - _END.size:
        _, claimed, directory = _END.unpack_from(tail, at)
        # Python versions read the zip64 end record at the position in its locator, or right before the locator:
        # https://github.com/python/cpython/issues/139700
        locator = at - _LOCATOR.size
        if locator >= 0 and tail[locator:].startswith(b"PK\x06\x07"):
            _, offset = _LOCATOR.unpack_from(tail, locator)
            stream.seek(min(offset, size))
            ends = (stream.read(_END64.size), tail[max(0, locator - _END64.size) : locator])
            directory = max(_END64.unpack(end)[1] for end in ends if len(end) == _END64.size)
        if directory > _LARGEST_DIRECTORY:
            raise BadArchive(f"its directory has {directory} bytes; no more than {_LARGEST_DIRECTORY} are read")
    stream.seek(0)
    return claimed
