"""Compressors of the tar of a layer: none, gzip and zstd."""

from __future__ import annotations

import zlib

from envbuilder.image.layers.deflate import MEMBER_HEAD, member_tail
from envbuilder.image.layers.zlib_library import Compressor, Deflate
from envbuilder.oci.images import LayerFormat
from envbuilder.oci.layout.layer_compression import zstandard

_ZSTD_LEVEL = 3


class NoCompressor:
    """A compressor that returns its input."""

    def compress(self, data: bytes, /) -> bytes:
        """See `Compressor.compress`."""
        return data

    def flush(self) -> bytes:
        """See `Compressor.flush`."""
        return b""


class GzipCompressor:
    """A deflate stream as one gzip member, without name and time."""

    def __init__(self, deflate: Deflate) -> None:
        self._object = deflate()
        self._head = MEMBER_HEAD
        self._crc = 0
        self._size = 0

    def compress(self, data: bytes, /) -> bytes:
        """See `Compressor.compress`."""
        head, self._head = self._head, b""
        self._crc = zlib.crc32(data, self._crc)
        self._size += len(data)
        return head + self._object.compress(data)

    def flush(self) -> bytes:
        """See `Compressor.flush`."""
        head, self._head = self._head, b""
        return head + self._object.flush() + member_tail(self._crc, self._size)


def zstd_compressor() -> tuple[Compressor, str]:
    """Return a compressor for zstd at level 3, and the version of its library.

    Raises:
        ToolMissing: zstd is not installed.
    """
    module = zstandard()
    version = ".".join(str(part) for part in module.ZSTD_VERSION)
    return module.ZstdCompressor(level=_ZSTD_LEVEL, write_content_size=False).compressobj(), version


def packer_of(layer_format: LayerFormat) -> str:
    """Return the version of libzstd if it affects the bytes of layers; empty for the other formats."""
    return f"zstd {zstd_compressor()[1]}, level {_ZSTD_LEVEL}" if layer_format is LayerFormat.ZSTD else ""
