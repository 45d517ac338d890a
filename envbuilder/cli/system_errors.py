"""Conversion of errors of the operating system to our own."""

from __future__ import annotations

import errno
import os

from envbuilder.core.errors import DiskFull, EnvbuilderError, MachineError, UsageError

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_LIMITS = {
    errno.EMFILE: "too many open files for one process (`ulimit -n`)",
    errno.ENFILE: "too many open files on this machine",
    errno.ENOMEM: "not enough memory",
    errno.EAGAIN: "too many processes or threads (`ulimit -u`)",
    errno.ENOBUFS: "not enough memory for network buffers",
    errno.EIO: "a device or file system fails (input/output error)",
    errno.EROFS: "the file system is read-only",
    errno.ESTALE: "a network file system has lost a file",
    errno.ENXIO: "a device is missing",
}
_THREAD = "can't start new thread"
_MAPPING = ("failed to map segment", "Cannot allocate memory")


def of_the_system(error: Exception) -> EnvbuilderError | None:
    """Return the error for a refusal of the operating system; None for a bug."""
    if isinstance(error, MemoryError):
        return _limit(_LIMITS[errno.ENOMEM])
    if isinstance(error, RuntimeError) and _THREAD in str(error):
        return _limit(_LIMITS[errno.EAGAIN])
    if isinstance(error, ImportError) and any(words in str(error) for words in _MAPPING):
        return _limit(_LIMITS[errno.ENOMEM])
    return _of_os(error) if isinstance(error, OSError) else None


def _of_os(error: OSError) -> EnvbuilderError | None:
    name = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else ""
    if error.errno in _FULL:
        what = "too large for `ulimit -f`, or for its file system" if error.errno == errno.EFBIG else "no space left"
        return DiskFull(f"{what}: {name or 'a file or the output'}", hint="free some space, then run the command again")
    if error.errno in _LIMITS:
        return _limit(_LIMITS[error.errno] + (f": {name}" if name else ""))
    if name:
        return UsageError(f"{name}: {error.strerror}", hint="use another path, or change its permissions")
    if error.errno is None:
        return None
    return _limit(os.strerror(error.errno))


def _limit(problem: str) -> MachineError:
    return MachineError(
        f"the operating system refused: {problem}", hint="raise the limit (`ulimit -a`), then run it again"
    )
