"""Write files, directories and links below one directory, and nowhere else.

Every directory on the way is opened by its own handle and without following a link, so a link that lies there already,
or that somebody puts there meanwhile, is an error and never a way out.
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


class Below:
    """Writes below a directory; for one thread at a time.

    All paths are those that `relative_path` takes. Directories above a path are made when they are missing. Something
    that is no directory is replaced by what takes its name; a directory is not.

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
        """Make a directory, unless it is there.

        Raises:
            BadArchive: It would be outside, below a link, or in place of something else.
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
        """Make a file; it has its mode, time and owner when the block ends.

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
        """Make a symbolic link; where it points is up to the caller. Raises as `file`."""
        parent, name = self._free(path)
        os.symlink(target, name, dir_fd=parent)
        if owner:
            os.chown(name, *owner, dir_fd=parent, follow_symlinks=False)
        if mtime is not None:
            os.utime(name, (mtime, mtime), dir_fd=parent, follow_symlinks=False)

    def hard_link(self, path: str, to: str) -> None:
        """Give a second name to a file that lies below the directory.

        Raises:
            BadArchive: As in `folder`, or `to` is no file there.
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
        """Give a directory its mode, time and owner, when all that lies in it was written. Raises as `folder`."""
        handle = self._open(path, path, make=False)
        try:
            _describe(handle, mode, mtime, owner)
        finally:
            os.close(handle)

    def _free(self, path: str) -> tuple[int, str]:
        """Handle of the directory of a path, and the name in it, which is free."""
        path = relative_path(path)
        if path == ".":
            raise BadArchive("something that is not a directory has the name of the directory itself")
        parent, name = self._place(path)
        try:
            os.unlink(name, dir_fd=parent)
        except FileNotFoundError:
            pass
        except (IsADirectoryError, PermissionError) as error:
            if _is_folder(name, parent):
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
        # Another thread may make it at the same time.
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


def _is_folder(name: str, parent: int) -> bool:
    return not _is_something_else(name, parent)


def _require_file(name: str, parent: int, subject: str) -> None:
    if not stat.S_ISREG(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        raise BadArchive(f"hard link to {subject!r}, which is not a file of the archive")


def _describe(handle: int, mode: int, mtime: int | None, owner: tuple[int, int] | None) -> None:
    if owner:
        os.fchown(handle, *owner)
    os.fchmod(handle, mode)
    if mtime is not None:
        os.utime(handle, (mtime, mtime))
