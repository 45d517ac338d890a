"""Deflate streams, unpacked by isal: the result is that of zlib, in a third of the time."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from isal import igzip_lib, isal_zlib

from envbuilder.core.errors import VerificationFailed
from envbuilder.core.files import CHUNK
from envbuilder.image.layers.entries import Spliced

_RAW = -15
_BROKEN = cast("type[Exception]", igzip_lib.IsalError)
"""The stub of the library declares the exception as an instance."""


class Reader:
    """Reader of streams in files; keeps the last file open, because a wheel has thousands of streams."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._handle = -1

    def pieces(self, spliced: Spliced) -> Iterator[bytes]:
        """Yield the stream as it is in its file, at most 1 MiB at a time.

        Raises:
            VerificationFailed: The file is too short.
        """
        self._open(spliced.file)
        offset, end = spliced.offset, spliced.offset + spliced.size
        while offset < end:
            piece = os.pread(self._handle, min(end - offset, CHUNK), offset)
            if not piece:
                raise VerificationFailed(f"{spliced.file.name} ends in the middle of a member")
            offset += len(piece)
            yield piece

    def inflated(
        self, spliced: Spliced, size: int, copy: Callable[[bytes], object] = lambda _piece: None
    ) -> Iterator[bytes]:
        """Yield the content of a stream, at most 1 MiB at a time; errors as in `Inflater`.

        Args:
            spliced: The stream.
            size: Bytes that it must unpack to.
            copy: Receives the stream as it is in its file.
        """
        inflater = Inflater(spliced, size)
        for piece in self.pieces(spliced):
            copy(piece)
            yield from inflater.unpack(piece)
        yield from inflater.finish()

    def close(self) -> None:
        """Close the open file."""
        if self._path:
            os.close(self._handle)
            self._path = None

    def _open(self, path: Path) -> None:
        if path != self._path:
            self.close()
            self._handle = os.open(path, os.O_RDONLY)
            self._path = path


class Inflater:
    """Unpacks one stream that is given in pieces, and compares it with the checksum and size in the zip.

    Args:
        size: Bytes that it must unpack to.
    """

    def __init__(self, spliced: Spliced, size: int) -> None:
        self._spliced = spliced
        self._size = size
        self._object = isal_zlib.decompressobj(wbits=_RAW)
        self._crc = 0
        self._seen = 0

    def unpack(self, piece: bytes) -> Iterator[bytes]:
        """Yield the unpacked content of the next piece, at most 1 MiB at a time."""
        try:
            while piece:
                data = self._object.decompress(piece, CHUNK)
                piece = self._object.unconsumed_tail
                if not data and piece and self._object.eof:
                    break
                self._crc = isal_zlib.crc32(data, self._crc)
                self._seen += len(data)
                if self._seen > self._size:
                    raise damaged(self._spliced.file, f"it has more than {self._size} bytes")
                yield data
        except _BROKEN as error:
            raise damaged(self._spliced.file, str(error)) from error

    def finish(self) -> Iterator[bytes]:
        """Yield the rest, after all pieces were given.

        Raises:
            VerificationFailed: The content does not match the zip.
        """
        rest = self._object.flush()
        self._crc = isal_zlib.crc32(rest, self._crc)
        self._seen += len(rest)
        if rest:
            yield rest
        is_whole = self._object.eof and not self._object.unused_data
        if (self._seen, self._crc) != (self._size, self._spliced.crc) or not is_whole:
            raise damaged(self._spliced.file, f"it has {self._seen} bytes and CRC {self._crc:08x}")


def damaged(file: Path, problem: str) -> VerificationFailed:
    """Return the error for a member that does not match its zip."""
    return VerificationFailed(
        f"{file.name} is damaged: a member does not match the central directory of the archive ({problem})",
        hint="the file of the index is damaged; use another index or another version",
    )


def inflated(spliced: Spliced, size: int) -> bytes:
    """Return the content of a small stream; errors as in `Inflater`."""
    reader = Reader()
    try:
        return b"".join(reader.inflated(spliced, size))
    finally:
        reader.close()


def opened(spliced: Spliced, size: int) -> BinaryIO:
    """Return the content of a stream of any size as a file; the last read raises as `Inflater` if it is damaged."""
    return cast("BinaryIO", io.BufferedReader(_Inflated(spliced, size)))


class _Inflated(io.RawIOBase):
    """The content of one stream, unpacked as it is read."""

    def __init__(self, spliced: Spliced, size: int) -> None:
        super().__init__()
        self._reader = Reader()
        self._pieces = self._reader.inflated(spliced, size)
        self._rest = b""
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast("bytearray", buffer))
        self._rest = self._rest or next(filter(None, self._pieces), b"")
        count = min(len(view), len(self._rest))
        self._left -= count
        if count and not self._left:
            # The reader stops here: compare size and checksum now.
            self._rest += b"".join(self._pieces)
        view[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        self._reader.close()
        super().close()
