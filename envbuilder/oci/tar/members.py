"""Members of a tar, and their two sources: a directory and another tar."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, cast

from envbuilder.core.archives.member_names import BadArchive
from envbuilder.core.archives.tar_reader import FileStream, TarEntry, TarReader

EPOCH = 1_700_000_000
"""Time stamp of everything in a base, an interpreter archive or an added layer: 2023-11-14T22:13:20Z.

It was chosen arbitrarily; one value for all environments lets them share layers.
"""


class Kind(Enum):
    """Kind of a member; the value is its type flag in a tar."""

    FILE = b"0"
    SYMLINK = b"2"
    CHARACTER = b"3"
    BLOCK = b"4"
    FOLDER = b"5"
    PIPE = b"6"


def _nothing() -> BinaryIO:
    return BytesIO()


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One path of a tree.

    Attributes:
        path: Relative, without a leading `./` and a final slash; `.` is the root itself. Bytes that are not UTF-8 are
            kept as surrogates.
        mode: Permission bits.
        mtime: Seconds since 1970.
        size: Bytes of a file.
        target: Target of a symbolic link.
        device: Major and minor number of a device.
        xattrs: PAX name and value of extended attributes, sorted by name.
        identity: Equal and not empty for members that are hard links to one file.
        open: Opens a stream whose next `size` bytes are the file.
    """

    path: str
    kind: Kind
    mode: int
    mtime: int
    uid: int = 0
    gid: int = 0
    size: int = 0
    target: str = ""
    device: tuple[int, int] = (0, 0)
    xattrs: tuple[tuple[str, bytes], ...] = ()
    identity: str = ""
    open: Callable[[], BinaryIO] = _nothing

    def read(self) -> bytes:
        """Return the content of the file."""
        with self.open() as stream:
            return stream.read(self.size)

    def holding(self, data: bytes) -> Member:
        """Return the same member with other content, no longer linked to any other."""
        return replace(self, size=len(data), identity="", open=partial(BytesIO, data))


def file_of(path: str, data: bytes, *, mtime: int, mode: int = 0o644) -> Member:
    """Return a file that exists only in memory, owned by root."""
    return Member(path=path, kind=Kind.FILE, mode=mode, mtime=mtime).holding(data)


def file_from(source: Path, path: str, *, mtime: int) -> Member:
    """Return a file with the content of one on disk, owned by root and readable by all users."""
    size = source.stat().st_size
    return Member(path=path, kind=Kind.FILE, mode=0o644, mtime=mtime, size=size, open=partial(opened_at, source, 0))


def opened_at(path: Path, offset: int) -> BinaryIO:
    """Open a file at an offset."""
    stream = path.open("rb")
    stream.seek(offset)
    return stream


class Section(io.RawIOBase):
    """A part of a file as a stream of its own."""

    def __init__(self, path: Path, offset: int, size: int) -> None:
        super().__init__()
        self._stream = opened_at(path, offset)
        self._left = size

    def readable(self) -> bool:
        """See `io.RawIOBase`."""
        return True

    def readinto(self, buffer: object) -> int:
        """See `io.RawIOBase`."""
        view = memoryview(cast("bytearray", buffer))
        data = self._stream.read(min(len(view), self._left))
        view[: len(data)] = data
        self._left -= len(data)
        return len(data)

    def close(self) -> None:
        """See `io.RawIOBase`."""
        self._stream.close()
        super().close()


def _keep_all(_path: str) -> bool:
    return True


def of_folder(
    root: Path, *, epoch: int, wanted: Callable[[str], bool] = _keep_all, as_found: bool = False
) -> Iterator[Member]:
    """Yield the contents of a directory, without the directory itself, in no particular order.

    Args:
        root: The directory.
        epoch: Time stamp of every member.
        wanted: Called once for each relative path; a directory for which it returns False is not entered.
        as_found: Keep owner and mode. Otherwise everything belongs to root, directories and executables are 0755 and
            other files 0644, independent of user and umask.
    """
    pending = [""]
    while pending:
        folder = pending.pop()
        with os.scandir(root / folder) as found:
            for entry in found:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if not wanted(path):
                    continue
                member = on_disk(root / path, path, mtime=epoch)
                if member.kind is Kind.FOLDER:
                    pending.append(path)
                yield member if as_found else _plain(member)


def on_disk(place: Path, path: str, *, mtime: int) -> Member:
    """Return one file, directory, link or pipe of this machine as `path`, with its owner and mode."""
    status = place.lstat()
    kind = _kind_on_disk(status.st_mode, place)
    is_file = kind is Kind.FILE
    return Member(
        path=path,
        kind=kind,
        mode=stat.S_IMODE(status.st_mode),
        mtime=mtime,
        uid=status.st_uid,
        gid=status.st_gid,
        size=status.st_size if is_file else 0,
        target=str(place.readlink()) if kind is Kind.SYMLINK else "",
        identity=f"{status.st_dev}:{status.st_ino}" if is_file and status.st_nlink > 1 else "",
        open=partial(opened_at, place, 0),
    )


def _kind_on_disk(mode: int, place: Path) -> Kind:
    kinds = {
        stat.S_IFREG: Kind.FILE,
        stat.S_IFDIR: Kind.FOLDER,
        stat.S_IFLNK: Kind.SYMLINK,
        stat.S_IFIFO: Kind.PIPE,
    }
    kind = kinds.get(stat.S_IFMT(mode))
    if kind is None:
        raise ValueError(f"{place} is not a file, a directory, a link or a pipe")
    return kind


def _plain(member: Member) -> Member:
    # A symbolic link has 0777 on every Linux, and becomes 0755 like every executable.
    mode = 0o755 if member.kind is Kind.FOLDER or member.mode & 0o111 else 0o644
    return replace(member, mode=mode, uid=0, gid=0)


def of_tar(path: Path, subject: str = "") -> tuple[Member, ...]:
    """Return the members of an uncompressed tar in its own order; contents are read later from the same file.

    Args:
        path: The tar.
        subject: Its name in errors; empty for its file name.

    Raises:
        BadArchive: The file is not a tar, or has an entry that a `Member` cannot represent, such as a sparse file.
    """
    found: dict[str, Member] = {}
    subject = subject or path.name
    with path.open("rb") as stream:
        for entry in TarReader(FileStream(stream, path.stat().st_size), subject).entries():
            if not entry.link_to:
                found[entry.path] = member_of(entry, partial(opened_at, path, entry.offset))
                continue
            first = found.get(entry.link_to)
            if first is None or first.kind is Kind.FOLDER:
                raise BadArchive(f"{subject} holds a link {entry.path!r} to {entry.link_to!r}, which is not a file")
            shared = replace(first, identity=first.identity or first.path)
            found[first.path] = shared
            found[entry.path] = replace(shared, path=entry.path)
    return tuple(found.values())


def member_of(entry: TarEntry, opened: Callable[[], BinaryIO] = _nothing) -> Member:
    """Return a member of a tar; a hard link becomes a file."""
    return Member(
        path=entry.path,
        kind=Kind.FILE if entry.link_to else Kind(entry.flag),
        mode=entry.mode,
        mtime=entry.mtime,
        uid=entry.uid,
        gid=entry.gid,
        size=entry.size,
        target=entry.target,
        device=entry.device,
        xattrs=entry.xattrs,
        open=opened,
    )
