"""Tar streams for the engine: the same files give the same bytes, and nothing is held in memory.

The first header must be plain USTAR: BuildKit takes a body that begins with a PAX header (`tarfile`'s answer to a
fractional time or a long name) for a Dockerfile (moby/buildkit frontend/dockerui/context.go, isArchive). So the
Dockerfile goes first, its name is short, and all times are whole.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from envbuilder.core.errors import UsageError

_CHUNK = 1024 * 1024
_PLAIN, _EXECUTABLE = 0o644, 0o755
_END = bytes(2 * tarfile.BLOCKSIZE)


def context(folder: Path, dockerfile: str) -> Iterator[bytes]:
    """A build context: everything under a folder, streamed from disk.

    Entries are sorted by path after the Dockerfile; owner 0, time 0; of the modes only "the owner may execute" is kept,
    so neither the umask of a checkout nor the hour of a rendering reaches the engine's cache keys.

    Args:
        folder: The context.
        dockerfile: Name of a file in it.

    Raises:
        UsageError: The folder has no such file.
    """
    first = folder / dockerfile
    if not first.is_file():
        raise UsageError(f"{folder} has no file {dockerfile}", hint="write it with `envbuilder render`")
    others = sorted(path for path in folder.rglob("*") if path != first)
    return _stream(folder, [first, *others])


def _stream(folder: Path, paths: list[Path]) -> Iterator[bytes]:
    for path in paths:
        entry = _entry(path.relative_to(folder).as_posix(), path)
        if entry is not None:
            yield _header(entry)
            yield from _content(path, entry.size)
    yield _END


def _entry(name: str, path: Path) -> tarfile.TarInfo | None:
    entry = tarfile.TarInfo(name)
    if path.is_symlink():
        entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, path.readlink().as_posix(), 0o777
    elif path.is_dir():
        entry.type, entry.mode = tarfile.DIRTYPE, _EXECUTABLE
    elif path.is_file():
        status = path.stat()
        entry.size, entry.mode = status.st_size, _EXECUTABLE if status.st_mode & 0o100 else _PLAIN
    else:
        return None  # sockets and pipes have no content that a build could copy
    return entry


def _header(entry: tarfile.TarInfo) -> bytes:
    return entry.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _content(path: Path, size: int) -> Iterator[bytes]:
    if not size:
        return
    left = size
    with path.open("rb") as file:
        while left and (chunk := file.read(min(_CHUNK, left))):
            left -= len(chunk)
            yield chunk
    if left:
        raise UsageError(f"{path} became shorter while it was sent to the engine", hint="build again")
    yield bytes(-size % tarfile.BLOCKSIZE)


def files_tar(files: Iterable[tuple[str, bytes]]) -> bytes:
    """A small archive of files that everybody may read, for putting into a container at `/`.

    It has no entries for folders: the engine makes those that are missing and leaves the mode of `/tmp` alone.

    Args:
        files: `(absolute path, content)`.
    """
    pieces: list[bytes] = []
    for path, content in files:
        entry = tarfile.TarInfo(path.lstrip("/"))
        entry.size, entry.mode = len(content), _PLAIN
        pieces += [_header(entry), content, bytes(-len(content) % tarfile.BLOCKSIZE)]
    return b"".join((*pieces, _END))
