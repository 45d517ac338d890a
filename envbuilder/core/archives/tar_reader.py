"""Sequential reader of an untrusted tar.

The standard library's reader is not used: it needs a seekable stream, follows its own rules for links and long names,
takes a damaged header for the end, and loops endlessly if a size is negative
(https://github.com/python/cpython/issues/130577).
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from envbuilder.core.archives.limits import LIMITS, Budget
from envbuilder.core.archives.member_names import BadArchive, link_target, relative_path

FILE, HARD_LINK, SYMLINK, CHARACTER, BLOCK_DEVICE, FOLDER, PIPE = (b"%d" % number for number in range(7))
_BLOCK = 512
_CHUNK = 1 << 20
_LARGEST_EXTRA = 1 << 20
_NONE = bytes(_BLOCK)
_FLAGS = {
    tarfile.REGTYPE: FILE, tarfile.AREGTYPE: FILE, tarfile.CONTTYPE: FILE, tarfile.LNKTYPE: HARD_LINK,
    tarfile.SYMTYPE: SYMLINK, tarfile.CHRTYPE: CHARACTER, tarfile.BLKTYPE: BLOCK_DEVICE, tarfile.DIRTYPE: FOLDER,
    tarfile.FIFOTYPE: PIPE,
}  # fmt: skip
_XATTR = "SCHILY.xattr."
_SPARSE = "GNU.sparse."
_DIGITS = 19
"""Maximum of digits of a number of 64 bits."""

_LARGEST_ID = (1 << 32) - 2
"""User ids; for the kernel, 2^32 - 1 stands for no user."""

_TIMES = range(-(1 << 31), 1 << 34)
"""Seconds since 1970 that ext4 can represent."""


class TarStream(Protocol):
    """Stream of a tar."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, fewer only at the end."""
        ...

    def skip(self, size: int, /) -> int:
        """Skip bytes; return how many there were."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TarEntry:
    """One member of a tar.

    Attributes:
        path: Relative, in the form of `relative_path`.
        flag: Type: one of the constants of this module.
        mtime: Seconds since 1970.
        size: Bytes of a file.
        target: Target of a symbolic link, unchecked.
        link_to: Path of the member that it is a hard link to; empty if it is not one.
        device: Major and minor number of a device.
        xattrs: PAX name and value of extended attributes, sorted by name.
        offset: Offset of its content in the tar.
    """

    path: str
    flag: bytes
    mode: int
    mtime: int
    uid: int
    gid: int
    size: int
    target: str
    link_to: str
    device: tuple[int, int]
    xattrs: tuple[tuple[str, bytes], ...]
    offset: int


class TarReader:
    """One tar, read once.

    Args:
        stream: The tar.
        subject: Its name in errors.
        budget: Counts the members; None for the usual limits. The decompressor of the stream counts bytes.
    """

    def __init__(self, stream: TarStream, subject: str, budget: Budget | None = None) -> None:
        self._stream = stream
        self._subject = subject
        self._budget = budget or Budget(LIMITS.total)
        self._at = 0
        self._content = 0
        self._padding = 0
        self._extra_bytes = 0

    def entries(self) -> Iterator[TarEntry]:
        """Yield the members in order; the content of one can be read until the next is requested.

        Raises:
            BadArchive: The tar is damaged, or has a member with an unsupported type, name, owner or time.
        """
        common: dict[str, str] = {}
        extra = _Extra()
        try:
            while (info := self._header()) is not None:
                if info.type == tarfile.XGLTYPE:
                    common |= self._records(info)
                elif info.type in {tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}:
                    extra.note_long(info.type, self._whole(info.size))
                elif info.type in {tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE}:
                    extra.records |= self._records(info)
                else:
                    entry = self._entry(info, extra, common)
                    self._budget.meet(entry.path, entry.size)
                    self._content = entry.size
                    self._padding = -entry.size % _BLOCK
                    yield entry
                    self._leave()
                    extra = _Extra()
        except tarfile.HeaderError as error:
            raise BadArchive(f"{self._subject} has a broken header: {error}") from error

    def content(self) -> Iterator[bytes]:
        """Yield the content of the last member, in pieces of at most 1 MiB."""
        while self._content:
            piece = self._read(min(self._content, _CHUNK))
            if not piece:
                raise self._cut_off()
            self._content -= len(piece)
            yield piece

    def _read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._at += len(data)
        return data

    def _skip(self, size: int) -> None:
        if size and self._stream.skip(size) != size:
            raise self._cut_off()
        self._at += size

    def _leave(self) -> None:
        left = self._content + self._padding
        self._content = self._padding = 0
        self._skip(left)

    def _header(self) -> tarfile.TarInfo | None:
        block = self._read(_BLOCK)
        if not self._at:
            raise BadArchive(f"{self._subject} is empty")
        if not block or block == _NONE:
            return None
        if len(block) < _BLOCK:
            raise self._cut_off()
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")

    def _whole(self, size: int) -> bytes:
        self._extra_bytes += max(size, 0)
        if not 0 <= size <= _LARGEST_EXTRA or self._extra_bytes > LIMITS.names:
            raise BadArchive(f"{self._subject} holds a header of {size} bytes")
        self._budget.meet("")
        data = self._read(size)
        if len(data) < size:
            raise self._cut_off()
        self._skip(-size % _BLOCK)
        return data

    def _records(self, info: tarfile.TarInfo) -> dict[str, str]:
        """Return the records of a PAX header: `LENGTH KEY=VALUE` and a newline; the length includes itself."""
        data, records = self._whole(info.size).rstrip(b"\0"), dict[str, str]()
        at = 0
        while at < len(data):
            digits = data[at : at + _DIGITS].partition(b" ")[0]
            end = at + (int(digits) if digits.isdigit() else 0)
            key, equals, value = data[at + len(digits) + 1 : max(end - 1, 0)].partition(b"=")
            if not equals or data[end - 1 : end] != b"\n":
                raise BadArchive(f"{self._subject} holds a PAX header that cannot be read")
            records[key.decode("utf-8", "surrogateescape")] = value.decode("utf-8", "surrogateescape")
            at = end
        return records

    def _entry(self, info: tarfile.TarInfo, extra: _Extra, common: dict[str, str]) -> TarEntry:
        records = common | extra.records
        flag = _FLAGS.get(info.type)
        if flag is None or any(key.startswith(_SPARSE) for key in records):
            raise BadArchive(
                f"{self._subject} holds {info.name[:300]!r}, of a kind that cannot be copied (type {info.type!r})"
            )
        target = records.get("linkpath") or extra.target or info.linkname
        path = records.get("path") or extra.path or info.name
        is_device = flag in {CHARACTER, BLOCK_DEVICE}
        try:
            return TarEntry(
                path=_path_of(path, flag),
                flag=flag,
                mode=info.mode & 0o7777,
                mtime=_number(records, "mtime", info.mtime, _TIMES),
                uid=_number(records, "uid", info.uid, range(_LARGEST_ID + 1)),
                gid=_number(records, "gid", info.gid, range(_LARGEST_ID + 1)),
                size=_number(records, "size", info.size, range(1 << 62)) if flag == FILE else 0,
                target=link_target(target) if flag == SYMLINK else "",
                link_to=relative_path(target) if flag == HARD_LINK else "",
                device=(info.devmajor, info.devminor) if is_device else (0, 0),
                xattrs=_xattrs(records) if records else (),
                offset=self._at,
            )
        except BadArchive as error:
            raise BadArchive(f"{self._subject} holds what cannot be unpacked: {error}") from error

    def _cut_off(self) -> BadArchive:
        return BadArchive(f"{self._subject} ends in the middle of a member")


def _path_of(name: str, flag: bytes) -> str:
    path = relative_path(name)
    if path == "." and flag != FOLDER:
        raise BadArchive(f"the path {name!r} is the directory itself, and the member is not a directory")
    return path


@dataclass(slots=True)
class _Extra:
    """Information on a member from the headers before it."""

    path: str = ""
    target: str = ""
    records: dict[str, str] = field(default_factory=dict)

    def note_long(self, typeflag: bytes, data: bytes) -> None:
        name = data.partition(b"\0")[0].decode("utf-8", "surrogateescape")
        if typeflag == tarfile.GNUTYPE_LONGNAME:
            self.path = name
        else:
            self.target = name


def _number(records: dict[str, str], key: str, otherwise: float, allowed: range) -> int:
    """Return a number of a header, or of the PAX record that replaces it; drop fractions of a second."""
    number = int(otherwise)
    if value := records.get(key, ""):
        whole = value.partition(".")[0] if key == "mtime" else value
        digits = whole.removeprefix("-")
        if not (digits.isascii() and digits.isdigit()) or len(digits) > _DIGITS:
            raise BadArchive(f"the {key} {value[:40]!r} is not a number")
        number = int(whole)
    if number not in allowed:
        raise BadArchive(f"the {key} {number} is out of range")
    return number


def _xattrs(records: dict[str, str]) -> tuple[tuple[str, bytes], ...]:
    found = ((key, value) for key, value in sorted(records.items()) if key.startswith(_XATTR))
    return tuple((key, value.encode("utf-8", "surrogateescape")) for key, value in found)


class PlainStream:
    """A stream that need not be seekable, such as a decompressor.

    Args:
        source: Returns fewer bytes than requested only at its end.
    """

    def __init__(self, source: BinaryIO) -> None:
        self._source = source

    def read(self, size: int, /) -> bytes:
        """See `TarStream.read`."""
        return self._source.read(size)

    def skip(self, size: int, /) -> int:
        """See `TarStream.skip`."""
        left = size
        while left and (piece := self._source.read(min(left, _CHUNK))):
            left -= len(piece)
        return size - left


class FileStream:
    """An uncompressed tar on disk, whose contents can be skipped.

    Args:
        file: The file, at its start.
        size: Size in bytes.
    """

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size

    def read(self, size: int, /) -> bytes:
        """See `TarStream.read`."""
        data = self._file.read(size)
        self._left -= len(data)
        return data

    def skip(self, size: int, /) -> int:
        """See `TarStream.skip`."""
        there = min(size, max(self._left, 0))
        self._file.seek(there, 1)
        self._left -= there
        return there
