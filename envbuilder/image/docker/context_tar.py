"""Tar streams for the engine: the same files give the same bytes, and nothing is kept in memory.

The first header must be plain USTAR: BuildKit takes a body that begins with a PAX header (caused by a fractional
time or a long name) for a Dockerfile. So the Dockerfile goes first, its name is short, and all times are whole.
Source: isArchive in https://github.com/moby/buildkit/blob/master/frontend/dockerui/context.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from envbuilder.core.errors import UsageError, VerificationFailed
from envbuilder.oci.tar.headers import ordered
from envbuilder.oci.tar.members import Kind, Member, file_of, of_folder
from envbuilder.oci.tar.writing import tar_blocks


def context(folder: Path, dockerfile: str) -> Iterator[bytes]:
    """Yield a build context: everything under a directory, streamed from disk.

    Entries are sorted by path after the Dockerfile; owner 0, time 0; of the modes only the executable bit is
    kept, so neither the umask of a checkout nor the time of a rendering changes the engine's cache keys. Sockets and
    pipes have no content that a build could copy, and are left out.

    Raises:
        UsageError: The directory has no such file, or a file became shorter meanwhile.
    """
    if not (folder / dockerfile).is_file():
        raise UsageError(f"{folder} has no file {dockerfile}", hint="write it with `envbuilder render`")

    def has_content(path: str) -> bool:
        place = folder / path
        return place.is_symlink() or place.is_dir() or place.is_file()

    found = {member.path: replace(member, identity="") for member in of_folder(folder, epoch=0, wanted=has_content)}
    first = found.pop(dockerfile)
    return _sent([first, *ordered(found.values())])


def _sent(members: Iterable[Member]) -> Iterator[bytes]:
    try:
        yield from tar_blocks(members)
    except VerificationFailed as error:
        raise UsageError(error.message, hint="build again when nothing writes to it") from error


def files_tar(files: Iterable[tuple[str, bytes]], *, home: tuple[str, int, int] | None = None) -> bytes:
    """Return a small archive of world-readable files, for copying into a container at `/`.

    It has no entries for other directories: the engine makes the missing ones and keeps the mode of `/tmp`.

    Args:
        files: `(absolute path, content)`.
        home: Absolute path of a home directory to create, its user and its group; None for none.
    """
    members = [file_of(path.lstrip("/"), content, mtime=0) for path, content in files]
    if home:
        path, uid, gid = home
        members.append(Member(path=path.lstrip("/"), kind=Kind.FOLDER, mode=0o755, mtime=0, uid=uid, gid=gid))
    return b"".join(tar_blocks(members))
