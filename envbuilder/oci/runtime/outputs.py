"""Untrusted files of a command: reading, permissions, removal."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from envbuilder.core.errors import VerificationFailed
from envbuilder.core.units import size

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LARGEST = 512 << 20
"""Limit in bytes of a file that is read as a whole; the largest expected is a wheel built from source."""
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_inside(folder: Path, path: str, *, limit: int = LARGEST) -> bytes | None:
    """Return the content of a file below a directory without following links; None if there is none.

    Args:
        folder: Top directory.
        path: Relative path, untrusted.
        limit: Maximum in bytes.

    Raises:
        VerificationFailed: It is larger.
    """
    *parents, name = [part for part in path.split("/") if part not in {"", "."}] or [""]
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        for part in parents:
            above, handle = handle, os.open(part, _FOLDER, dir_fd=handle)
            os.close(above)
        found = os.open(name, _FILE, dir_fd=handle) if name and ".." not in (*parents, name) else -1
    except OSError:
        return None
    finally:
        os.close(handle)
    if found < 0:
        return None
    if not stat.S_ISREG(os.fstat(found).st_mode):
        os.close(found)
        return None
    with os.fdopen(found, "rb") as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise VerificationFailed(
            f"{path} is larger than {size(limit)}, the limit for this file",
            hint="use a trusted image",
        )
    return content


@contextmanager
def scratch(work: Path) -> Iterator[Path]:
    """Create a directory that is removed at the end with its contents, and its parent if that is missing."""
    work.mkdir(parents=True, exist_ok=True)
    folder = Path(mkdtemp(prefix="run-", dir=work))
    try:
        yield folder
    finally:
        discard(folder)


def open_to_all(folder: Path) -> None:
    """Make a directory of envbuilder readable by all users, regardless of the umask and the modes in an archive."""
    for place, _, names in os.walk(folder):
        _allow(Path(place), 0o555)
        for name in names:
            if not Path(place, name).is_symlink():
                _allow(Path(place, name), 0o444)


def _allow(path: Path, rights: int) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & rights != rights:
        path.chmod(mode | rights)


def discard(folder: Path) -> None:
    """Remove a directory and its contents, also if directories in it are read-only."""
    for place, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(place, name)
            if not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
