"""Decompressed streams of gzip, bzip2 and xz, bounded in memory and size."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO, cast

from envbuilder.core.archives.limits import Bounded, Budget, ByteStream
from envbuilder.core.archives.member_names import BadArchive

_BUFFER = 1 << 18
_XZ_MEMORY = 256 << 20
"""Memory limit of a decompressor of xz in bytes; a dictionary of `xz -9` needs 65 MiB."""

_BROKEN = (zlib.error, lzma.LZMAError, EOFError, gzip.BadGzipFile)
_MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\0": "xz"}


def packing_by(head: bytes) -> str:
    """Return `gz`, `bz2` or `xz` by the first six bytes of a stream; empty for anything else."""
    return next((name for magic, name in _MAGIC.items() if head.startswith(magic)), "")


@contextmanager
def unpacked(stream: BinaryIO, packing: str, budget: Budget) -> Iterator[BinaryIO]:
    """Open a compressed stream.

    Args:
        stream: The compressed stream.
        packing: `gz`, `bz2`, `xz`, or empty for an uncompressed stream.
        budget: Charged for each decompressed byte.

    Raises:
        BadArchive: It is damaged, or exceeds the budget; when it is read.
    """
    with io.BufferedReader(Bounded(_Guarded(_OPENERS[packing](stream)), budget), _BUFFER) as reader:
        yield cast("BinaryIO", reader)


class _Guarded:
    """A decompressor whose errors are ours, wherever it is read."""

    def __init__(self, source: ByteStream | IO[bytes]) -> None:
        self._source = source

    def read(self, size: int, /) -> bytes:
        try:
            return self._source.read(size)
        except _BROKEN as error:
            raise BadArchive(f"it is damaged: {error or type(error).__name__}") from error
        except OSError as error:
            # gzip and bz2 report damage as an OSError without a number.
            if error.errno is None:
                raise BadArchive(f"it is damaged: {error}") from error
            raise


class _Xz:
    """Concatenated streams of xz with a limit of memory, which `lzma.open` does not have."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._object = self._new()
        self._pending = b""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes; none only at the end."""
        while True:
            if self._object.eof:
                self._pending = (self._object.unused_data or self._source.read(_BUFFER)).lstrip(b"\0")
                if not self._pending:
                    return b""
                self._object = self._new()
            elif self._object.needs_input:
                self._pending = self._source.read(_BUFFER)
                if not self._pending:
                    raise EOFError("it is truncated")
            data = self._object.decompress(self._pending, size)
            self._pending = b""
            if data:
                return data

    @staticmethod
    def _new() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)


_OPENERS: dict[str, Callable[[BinaryIO], IO[bytes] | _Xz]] = {
    "": lambda stream: stream,
    "gz": lambda stream: cast("IO[bytes]", gzip.GzipFile(fileobj=stream)),
    "bz2": lambda stream: cast("IO[bytes]", bz2.BZ2File(stream)),
    "xz": _Xz,
}
