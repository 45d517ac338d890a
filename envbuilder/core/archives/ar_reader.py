"""Parts of an ar archive, such as a .deb."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from typing import BinaryIO, cast

from envbuilder.core.archives.member_names import BadArchive

_MAGIC = b"!<arch>\n"
_HEAD = 60
_END_OF_HEAD = b"`\n"
_MOST_PARTS = 16
"""A .deb has three parts; signatures add one or two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArPart:
    """Position of a part.

    Attributes:
        name: Its name, without a final slash.
        offset: Offset of its content.
        size: Size in bytes.
    """

    name: str
    offset: int
    size: int


def parts(stream: BinaryIO) -> dict[str, ArPart]:
    """Return the parts of an archive by name, in its order.

    Raises:
        BadArchive: The file is not an ar archive, a part extends beyond its end, or two have the same name.
    """
    end = os.fstat(stream.fileno()).st_size
    stream.seek(0)
    if stream.read(len(_MAGIC)) != _MAGIC:
        raise BadArchive("it is not an ar archive")
    found: dict[str, ArPart] = {}
    at = len(_MAGIC)
    while at + _HEAD <= end:
        stream.seek(at)
        part = _part(stream.read(_HEAD), at + _HEAD, end)
        if part.name in found or len(found) >= _MOST_PARTS:
            raise BadArchive(f"it has the part {part.name!r} twice, or more than {_MOST_PARTS} parts")
        found[part.name] = part
        at = part.offset + part.size + part.size % 2
    return found


def _part(head: bytes, offset: int, end: int) -> ArPart:
    digits = head[48:58].strip(b" ")
    if head[58:] != _END_OF_HEAD or not digits.isdigit() or not head[:16].isascii():
        raise BadArchive("it has a broken header")
    size = int(digits)
    if size > end - offset:
        raise BadArchive(f"a part claims {size} bytes; {end - offset} are left")
    return ArPart(name=head[:16].decode("ascii").strip().rstrip("/"), offset=offset, size=size)


def opened_part(stream: BinaryIO, part: ArPart) -> BinaryIO:
    """Return a part as a stream of its own."""
    return cast("BinaryIO", io.BufferedReader(_Window(stream, part)))


class _Window(io.RawIOBase):
    def __init__(self, stream: BinaryIO, part: ArPart) -> None:
        super().__init__()
        self._stream = stream
        self._at = part.offset
        self._end = part.offset + part.size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self._stream.seek(self._at)
        data = self._stream.read(min(len(buffer), self._end - self._at))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
