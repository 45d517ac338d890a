"""Decompression of a layer's blob: gzip of any number of members, zstd, or an uncompressed tar."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, Self, cast

from isal import igzip, igzip_lib

from envbuilder.core.archives.limits import LIMITS, Bounded, Budget
from envbuilder.core.archives.member_names import BadArchive
from envbuilder.core.errors import VerificationFailed
from envbuilder.core.install_commands import optional_package

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_BUFFER = 1 << 18
# The stub of the library declares it as an exception.
_ISAL = cast("type[Exception]", igzip_lib.IsalError)
_BROKEN = (EOFError, gzip.BadGzipFile, zlib.error, _ISAL)


@contextmanager
def unpacked(blob: Path) -> Iterator[Unpacked]:
    """Open the tar in a blob; detect the compression by its first bytes, since media types differ between tools.

    Raises:
        ToolMissing: It is zstd, and no decompressor is installed.
        VerificationFailed: It cannot be decompressed, or exceeds the size limit; also from within the block.
    """
    with broken_is_damaged(blob), blob.open("rb") as packed:
        head = packed.read(4)
        packed.seek(0)
        with Unpacked(_opened(packed, head), Budget(blob.stat().st_size)) as stream:
            yield stream


@contextmanager
def broken_is_damaged(blob: Path) -> Iterator[None]:
    """Translate the errors of decompressors for invalid data into VerificationFailed."""
    try:
        yield
    except (*_BROKEN, BadArchive) as error:
        raise VerificationFailed(f"the layer {blob.name} cannot be unpacked: {error}") from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise VerificationFailed(f"the layer {blob.name} cannot be unpacked: {error}") from error


def _opened(packed: BinaryIO, head: bytes) -> BinaryIO:
    if head.startswith(_GZIP):
        return cast("BinaryIO", igzip.IGzipFile(fileobj=packed, mode="rb"))  # type: ignore[no-untyped-call]
    return _zstd(packed) if head == _ZSTD else packed


def zstandard() -> ModuleType:
    """Return the library for zstd.

    Raises:
        ToolMissing: It is not installed.
    """
    return optional_package("zstandard", "layers in the format zstd require the Python package zstandard")


def _zstd(packed: BinaryIO) -> BinaryIO:
    module = zstandard()
    stream = module.ZstdDecompressor().stream_reader(packed, read_across_frames=True, closefd=False)
    return cast("BinaryIO", _ZstdReader(stream, module.ZstdError))


class _ZstdReader:
    """Reader of the library, with its error translated into a standard one."""

    def __init__(self, stream: BinaryIO, broken: type[Exception]) -> None:
        self._stream = stream
        self._broken = broken

    def read(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except self._broken as error:
            raise EOFError(str(error)) from error

    def close(self) -> None:
        self._stream.close()


class Unpacked:
    """Stream that digests its content in large pieces, and can be read in small ones.

    Args:
        source: Closed together with this stream.
        budget: Charged for each byte read from the source; None for an uncompressed one.
    """

    def __init__(self, source: BinaryIO, budget: Budget | None = None) -> None:
        self._digesting = _Digesting(source, budget or Budget(LIMITS.total))
        self._buffer = io.BufferedReader(self._digesting, _BUFFER)

    def read(self, size: int) -> bytes:
        """Return the next bytes, fewer only at the end."""
        return self._buffer.read(size)

    def skip(self, size: int) -> int:
        """Skip bytes; return how many there were."""
        left = size
        while left and (chunk := self._buffer.read(min(left, _BUFFER))):
            left -= len(chunk)
        return size - left

    def diff_id(self) -> str:
        """Read to the end; return the `sha256:…` of the whole stream."""
        while self._buffer.read(_BUFFER):
            pass
        return f"sha256:{self._digesting.hash.hexdigest()}"

    @property
    def size(self) -> int:
        """Bytes read from the source so far."""
        return self._digesting.size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._buffer.close()


class _Digesting(Bounded):
    def __init__(self, source: BinaryIO, budget: Budget) -> None:
        super().__init__(source, budget)
        self._opened = source
        self.hash = hashlib.sha256()
        self.size = 0

    def readinto(self, buffer: object) -> int:
        size = super().readinto(buffer)
        self.hash.update(memoryview(cast("bytearray", buffer))[:size])
        self.size += size
        return size

    def close(self) -> None:
        if not self.closed:
            self._opened.close()
        super().close()
