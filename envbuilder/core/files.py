"""Atomic writing of files, and reading of files, and of text in them, without blocking."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from envbuilder.core.errors import Fault, InvalidInput

CHUNK = 1 << 20
LONGEST = 64 << 20
"""Limit in bytes of a JSON or text file. The manifest of a tree with 200,000 files has 30 MiB; facts of a large machine
have less than 1 MiB."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NOT_REGULAR = "is not a regular file"


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Create a file beside `path` that replaces it, flushed to disk, when the block ends without an error.

    After an error it is removed, and an older file of the name is kept.
    """
    # The name must differ between processes and threads; it need not be reproducible, since it is temporary.
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        with naming(path.parent), part.open("xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def copied(source: Path, target: Path) -> None:
    """Copy the content of a regular file atomically, as `replacing`."""
    with open_regular(source) as content, replacing(target) as copy:
        shutil.copyfileobj(content, copy, CHUNK)


def write_text(path: Path, text: str) -> None:
    """Write a file atomically: a concurrent reader or an interruption finds the old text or the new one."""
    with replacing(path) as stream:
        stream.write(text.encode())


@contextmanager
def naming(folder: Path) -> Iterator[None]:
    """Add a directory to the error of a full disk, which does not state where the write failed."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL and error.filename is None:
            raise OSError(error.errno, error.strerror, str(folder)) from error
        raise


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading; never block on a pipe, nor start a device.

    Raises:
        OSError: It cannot be opened, or is something else: a directory, pipe, socket or device, or a file of `/proc`,
            whose content the kernel generates while it is read.
    """
    # Without O_NONBLOCK, opening a pipe waits for a writer.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket
            raise OSError(errno.EINVAL, _NOT_REGULAR, str(path)) from error
        raise
    try:
        _require_regular(os.fstat(descriptor), path)
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def read_regular(path: Path, limit: int) -> bytes:
    """Return the content of a regular file.

    Raises:
        OSError: As `open_regular`; or it is larger than `limit` bytes.
    """
    with open_regular(path) as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        too_large = f"has more than {limit} bytes"
        raise OSError(errno.EFBIG, too_large, str(path))
    return content


def _require_regular(status: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode) or status.st_dev == _proc_device():
        raise OSError(errno.EINVAL, _NOT_REGULAR, str(path))


def _proc_device() -> int:
    try:
        return Path("/proc/self").stat().st_dev
    except OSError:
        return -1


def read_json(path: Path) -> object:
    """Return the content of a JSON file of envbuilder, which may have been damaged since.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not a regular file, is too large, or is not JSON.
    """
    # Opening a named pipe would wait for a writer.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as stream:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > LONGEST:
            raise ValueError(f"{path} is not a regular file of at most {LONGEST} bytes")
        content = stream.read(LONGEST)
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError(f"{path} is nested too deep") from error


def read_text(file: Path) -> str:
    """Return the text of a regular UTF-8 file.

    Raises:
        InvalidInput: It cannot be read, is too large, is not a file, or is not UTF-8 text.
    """
    try:
        return _decoded(read_regular(file, LONGEST), str(file))
    except OSError as error:
        raise _fault(str(file), f"cannot be read: {error.strerror}") from error


def read_stream(stream: BinaryIO, name: str) -> str:
    """Return the UTF-8 text of a stream, such as standard input, read to its end.

    Raises:
        InvalidInput: It cannot be read, is too large, or is not UTF-8 text.
    """
    try:
        content = stream.read(LONGEST + 1)
    except OSError as error:
        raise _fault(name, f"cannot be read: {error.strerror}") from error
    if len(content) > LONGEST:
        raise _fault(name, f"cannot be read: has more than {LONGEST} bytes")
    return _decoded(content, name)


def _decoded(content: bytes, name: str) -> str:
    try:
        # Universal newlines, as for text files: a line ends with \r\n, \r or \n.
        return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise _fault(name, "cannot be read: is not UTF-8 text") from error


def _fault(name: str, problem: str) -> InvalidInput:
    return InvalidInput((Fault(file=name, line=0, field="", problem=problem),))
