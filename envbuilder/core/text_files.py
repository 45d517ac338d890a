"""Text files written by users or other programs."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from envbuilder.core.errors import Fault, InvalidInput
from envbuilder.core.files import read_regular

LONGEST = 64 << 20
"""Limit in bytes: facts of a large machine have less than 1 MiB, the largest file of the catalog a quarter of it."""


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
    """Return the UTF-8 text of a stream, such as standard input.

    Args:
        stream: Read to its end.
        name: Its name in faults.

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
