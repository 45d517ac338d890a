"""Members of a vendor archive in each of its formats, read in order; nothing is unpacked or executed."""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias, assert_never

from envbuilder.catalog.archives import ArchiveFormat, ArchivePin
from envbuilder.core.archives import makeself, packed_tar
from envbuilder.core.archives.member_names import BadArchive, relative_path
from envbuilder.core.archives.tar_reader import FILE, HARD_LINK, SYMLINK, TarEntry, TarReader
from envbuilder.core.archives.zip_reader import opened

Content: TypeAlias = Callable[[], Iterator[bytes]]
"""Returns the content of the member that was yielded last, in pieces."""

_Tars: TypeAlias = Iterator[tuple[TarEntry, TarReader]]
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveEntry:
    """A member of an archive.

    Attributes:
        path: Relative path.
        size: Bytes of a file; 0 for anything else.
        is_file: True for a regular file.
        target: Target of a symbolic link, unchecked; empty if it is none.
        same_as: Path of the member that it is a hard link to; empty if it is none.
    """

    path: str
    size: int = 0
    is_file: bool = False
    target: str = ""
    same_as: str = ""


def members(file: Path, pin: ArchivePin) -> Generator[tuple[ArchiveEntry, Content], None, None]:
    """Yield the members of an archive, or of the run file inside a nested one, with their contents.

    The content of a member can be read until the next is requested. An archive that has a checksum is verified after
    its last member.

    Raises:
        BadArchive: It is damaged, has a member with an unsupported type or name, or lacks the inner run file.
        OSError: It cannot be read.
    """
    if pin.format is ArchiveFormat.WHEEL:
        with opened(file) as content:
            for info in content.members:
                member = ArchiveEntry(path=relative_path(info.filename), size=info.file_size, is_file=not info.is_dir())
                yield member, partial(content.pieces, info)
        return
    with file.open("rb") as stream:
        for entry, tar in _tars(stream, file.stat().st_size, pin):
            yield _member(entry), tar.content


def _tars(stream: io.BufferedReader, size: int, pin: ArchivePin) -> _Tars:
    match pin.format:
        case ArchiveFormat.MAKESELF:
            return makeself.members(stream, size)
        case ArchiveFormat.MAKESELF_NESTED:
            return _nested(makeself.members(stream, size), pin.inner)
        case ArchiveFormat.TAR_GZIP | ArchiveFormat.TAR_XZ:
            return packed_tar.members(stream, size)
        case ArchiveFormat.WHEEL:
            raise AssertionError("read above")
        case unknown:
            assert_never(unknown)


def _nested(outer: _Tars, inner: str) -> _Tars:
    """Yield the members of a run file that is a member of another one."""
    others = []
    found = False
    for entry, tar in outer:
        if entry.path == inner and entry.flag == FILE and not found:
            found = True
            yield from makeself.members(makeself.stream_of(tar.content()), entry.size)
        elif entry.path.endswith(".run"):
            others.append(entry.path)
    if not found:
        raise BadArchive(f"it does not contain {inner}; its run files are: {', '.join(others[:_SHOWN]) or 'none'}")


def _member(entry: TarEntry) -> ArchiveEntry:
    return ArchiveEntry(
        path=entry.path,
        size=entry.size,
        is_file=entry.flag == FILE,
        target=entry.target if entry.flag == SYMLINK else "",
        same_as=entry.link_to if entry.flag == HARD_LINK else "",
    )
