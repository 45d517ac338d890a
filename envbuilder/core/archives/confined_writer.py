"""Writer of files, directories and links below one directory, and nowhere else.

Every directory of a path is opened by its own handle and without following links, so that a link in the path, even one
that another process creates meanwhile, is an error.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Self

from envbuilder.core.archives.member_names import BadArchive, relative_path
from envbuilder.core.files import naming

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class ConfinedWriter:
    """Writer below a directory; for one thread at a time.

    All paths are those that `relative_path` accepts. Missing parent directories are created. Existing entries are
    replaced, except directories.

    Args:
        root: An existing directory.
    """

    def __init__(self, root: Path) -> None:
        self._name = root
        self._root = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._folder = ""
        self._handle = os.dup(self._root)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)
        os.close(self._root)

    def folder(self, path: str, mode: int = 0o755) -> None:
        """Create a directory, unless it exists.

        Raises:
            BadArchive: It would be outside, below a link, or replace something else.
            OSError: The file system refuses it.
        """
        path = relative_path(path)
        if path != ".":
            parent, name = self._place(path)
            with suppress(FileExistsError):
                os.mkdir(name, mode, dir_fd=parent)
                return
            os.close(_opened(name, parent, path))

    @contextmanager
    def file(
        self, path: str, *, mode: int, mtime: int | None = None, owner: tuple[int, int] | None = None
    ) -> Iterator[BinaryIO]:
        """Create a file; it has its mode, time and owner when the block ends.

        Args:
            path: Its path.
            mode: Permission bits.
            mtime: Seconds since 1970; None for now.
            owner: User and group; None for those of the process.

        Raises:
            BadArchive: As in `folder`.
            OSError: The file system refuses it.
        """
        parent, name = self._free(path)
        handle = os.open(name, _NEW, 0o600, dir_fd=parent)
        with naming(self._name), os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            _describe(handle, mode, mtime, owner)

    def symlink(
        self, path: str, target: str, *, mtime: int | None = None, owner: tuple[int, int] | None = None
    ) -> None:
        """Create a symbolic link; the caller checks its target. Raises as `file`."""
        parent, name = self._free(path)
        os.symlink(target, name, dir_fd=parent)
        if owner:
            os.chown(name, *owner, dir_fd=parent, follow_symlinks=False)
        if mtime is not None:
            os.utime(name, (mtime, mtime), dir_fd=parent, follow_symlinks=False)

    def hard_link(self, path: str, to: str) -> None:
        """Create a second name for a file below the directory.

        Raises:
            BadArchive: As in `folder`, or `to` is not a file there.
            OSError: The file system refuses it.
        """
        to = relative_path(to)
        folder, _, first = to.rpartition("/")
        try:
            source = self._open(folder, to, make=False)
            try:
                _require_file(first, source, to)
                parent, name = self._free(path)
                os.link(first, name, src_dir_fd=source, dst_dir_fd=parent, follow_symlinks=False)
            finally:
                os.close(source)
        except FileNotFoundError as error:
            raise BadArchive(f"hard link to {to!r}, which is not a file of the archive") from error

    def describe(self, path: str, *, mode: int, mtime: int | None = None, owner: tuple[int, int] | None = None) -> None:
        """Set mode, time and owner of a directory, after its contents are written. Raises as `folder`."""
        handle = self._open(path, path, make=False)
        try:
            _describe(handle, mode, mtime, owner)
        finally:
            os.close(handle)

    def _free(self, path: str) -> tuple[int, str]:
        """Return the handle of the parent directory of a path, and its name, which does not exist there."""
        path = relative_path(path)
        if path == ".":
            raise BadArchive("something that is not a directory has the name of the directory itself")
        parent, name = self._place(path)
        try:
            os.unlink(name, dir_fd=parent)
        except FileNotFoundError:
            pass
        except (IsADirectoryError, PermissionError) as error:
            if not _is_something_else(name, parent):
                raise BadArchive(f"{path!r} is both a directory and something else") from error
            raise
        return parent, name

    def _place(self, path: str) -> tuple[int, str]:
        folder, _, name = path.rpartition("/")
        if folder != self._folder:
            handle = self._open(folder, path, make=True)
            os.close(self._handle)
            self._folder, self._handle = folder, handle
        return self._handle, name

    def _open(self, folder: str, subject: str, *, make: bool) -> int:
        """Open a directory below the root; the caller closes it."""
        start, rest = self._root, folder
        if self._folder and folder.startswith(f"{self._folder}/"):
            start, rest = self._handle, folder[len(self._folder) + 1 :]
        handle = os.dup(start)
        for part in rest.split("/") if rest not in {"", "."} else ():
            try:
                following = _made(part, handle, subject) if make else _opened(part, handle, subject)
            finally:
                os.close(handle)
            handle = following
        return handle


def _made(part: str, parent: int, subject: str) -> int:
    try:
        return _opened(part, parent, subject)
    except FileNotFoundError:
        # Another thread may create it at the same time.
        with suppress(FileExistsError):
            os.mkdir(part, 0o755, dir_fd=parent)
        return _opened(part, parent, subject)


def _opened(part: str, parent: int, subject: str) -> int:
    try:
        return os.open(part, _FOLDER, dir_fd=parent)
    except OSError as error:
        if isinstance(error, FileNotFoundError | PermissionError) or not _is_something_else(part, parent):
            raise
        raise BadArchive(f"{subject!r} needs the directory {part!r}, which is a link or a file") from error


def _is_something_else(name: str, parent: int) -> bool:
    return not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)


def _require_file(name: str, parent: int, subject: str) -> None:
    if not stat.S_ISREG(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        raise BadArchive(f"hard link to {subject!r}, which is not a file of the archive")


def _describe(handle: int, mode: int, mtime: int | None, owner: tuple[int, int] | None) -> None:
    if owner:
        os.fchown(handle, *owner)
    os.fchmod(handle, mode)
    if mtime is not None:
        os.utime(handle, (mtime, mtime))
