"""Kernel locks between processes on open files, which end with the process."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from envbuilder.core.errors import LocksUnsupported

_UNSUPPORTED = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})
"""Errors of NFS without lockd, and of Lustre mounted without `flock`.

Source: flock(2), https://doc.lustre.org/lustre_manual.xhtml (mount option `flock`), read 2026-11.
"""


def open_lock(path: Path) -> int:
    """Open a file for locks, and create it if it is missing; return its file descriptor.

    Links are not followed, and pipes do not block.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(errno.EINVAL, "a socket cannot be used as a lock", str(path)) from error
        raise


@contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a lock while the block runs; errors as in `open_lock` and `hold`."""
    handle = open_lock(path)
    try:
        hold(handle, path, shared=shared)
        yield
    finally:
        os.close(handle)


def hold(handle: int, place: Path, *, shared: bool = False) -> None:
    """Wait until an open file is locked; it is unlocked when it is closed.

    Args:
        handle: File descriptor.
        place: Path of the file, for errors.
        shared: Allow others to hold a shared lock at the same time.

    Raises:
        LocksUnsupported: The file system has no locks.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
    except OSError as error:
        _refuse(error, place)
        raise


def hold_now(handle: int, place: Path) -> bool:
    """Lock an open file without waiting; return False if it is locked already.

    Raises:
        LocksUnsupported: The file system has no locks.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        _refuse(error, place)
        raise
    return True


def _refuse(error: OSError, place: Path) -> None:
    if error.errno in _UNSUPPORTED:
        raise LocksUnsupported(
            f"{place.parent} cannot be used: its file system has no file locks ({os.strerror(error.errno)})",
            hint="use a directory on a local disk: `export ENVBUILDER_CACHE=/local/directory` for the cache",
        ) from error
