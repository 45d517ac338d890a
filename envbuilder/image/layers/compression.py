"""Compression of the tar of a layer: one sink for each format."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol, TypeAlias

from envbuilder.core.errors import VerificationFailed
from envbuilder.core.files import CHUNK
from envbuilder.image.layers.deflate import MEMBER_HEAD, fixed_block, member_tail, packed, stored_block
from envbuilder.image.layers.entries import Spliced
from envbuilder.image.layers.inflate import Reader
from envbuilder.image.layers.zlib_library import Compressor, Deflate
from envbuilder.oci.images import LayerFormat
from envbuilder.oci.layout.layer_compression import zstandard
from envbuilder.oci.tar.headers import headers
from envbuilder.oci.tar.members import Member

_BUFFER = 1 << 18
_SMALL = 1 << 10
"""Contents up to this size in bytes are packed together with the headers around them."""

_TINY = 200
"""Spliced contents up to this size in bytes are too: a gzip member of their own would cost more than it saves."""

_STORED = 0xFFFF
_ZSTD_LEVEL = 3


Watch: TypeAlias = Callable[[bytes], None]


class Digesting:
    """Digests and counts a stream.

    Attributes:
        size: Bytes so far.
        silent: Nothing is digested or counted.
    """

    def __init__(self, *, silent: bool = False) -> None:
        self.silent = silent
        self.size = 0
        self._hash = hashlib.sha256()
        self._pending = bytearray()

    def update(self, data: bytes) -> None:
        """Add the next bytes."""
        if self.silent:
            return
        self.size += len(data)
        if len(data) >= _BUFFER:
            self._flush()
            self._hash.update(data)
            return
        self._pending += data
        if len(self._pending) >= _BUFFER:
            self._flush()

    @property
    def digest(self) -> str:
        """`sha256:…` of all bytes so far."""
        self._flush()
        return f"sha256:{self._hash.hexdigest()}"

    def _flush(self) -> None:
        self._hash.update(self._pending)
        self._pending.clear()


class Sink(Protocol):
    """Receiver of the pieces of a tar.

    Attributes:
        contents: `sha256:…` of the table of contents, after `finish`; empty if the format has none.
    """

    contents: str

    def begin(self, member: Member, link_to: str = "") -> None:
        """Add the headers of a member; `link_to` is the path that it is a hard link to."""
        ...

    def plain(self, data: bytes) -> None:
        """Add padding."""
        ...

    def content(self, stream: BinaryIO, size: int) -> None:
        """Add a content that is not packed yet: the next `size` bytes."""
        ...

    def splice(self, spliced: Spliced, size: int, watch: Watch | None = None) -> None:
        """Add a content that is packed in a wheel; `watch` receives the unpacked bytes, if it is unpacked at all."""
        ...

    def finish(self, end: bytes) -> None:
        """End the stream; `end` is the end of the tar, or empty if that was already added."""
        ...

    def close(self) -> None:
        """Close open files; also after an error."""
        ...


class SplicingSink:
    """Gzip with one member for each content as packed in its wheel; the bytes between them are packed separately.

    Args:
        write: Receives the bytes of the blob.
        tar: Digests the tar inside; if it is silent, spliced contents are not unpacked.
        deflate: Compresses everything that is not from a wheel; None stores it, so that no library affects the bytes.
    """

    def __init__(self, write: Callable[[bytes], object], tar: Digesting, deflate: Deflate | None = None) -> None:
        self._deflate = deflate
        self._out = Buffer(write)
        self._tar = tar
        self._reader = Reader()
        self._pending = bytearray()
        self.contents = ""

    def begin(self, member: Member, link_to: str = "") -> None:
        """See `Sink.begin`."""
        self.plain(b"".join(headers(member, link_to=link_to)))

    def plain(self, data: bytes) -> None:
        """See `Sink.plain`."""
        self._tar.update(data)
        self._pending += data

    def content(self, stream: BinaryIO, size: int) -> None:
        """See `Sink.content`."""
        if size <= _SMALL:
            self.plain(b"".join(read(stream, size)))
            return
        self._flush()
        if self._deflate:
            compressor = GzipCompressor(self._deflate)
            for piece in read(stream, size):
                self._tar.update(piece)
                self._out.write(compressor.compress(piece))
            self._out.write(compressor.flush())
            return
        self._out.write(MEMBER_HEAD)
        crc, left = 0, size
        for piece in read(stream, size, _STORED):
            left -= len(piece)
            crc = zlib.crc32(piece, crc)
            self._tar.update(piece)
            self._out.write(stored_block(piece, final=not left))
        self._out.write(member_tail(crc, size))

    def splice(self, spliced: Spliced, size: int, watch: Watch | None = None) -> None:
        """See `Sink.splice`."""
        if size <= _TINY:
            self.plain(b"".join(self._reader.inflated(spliced, size)))
            return
        self._flush()
        self._out.write(MEMBER_HEAD)
        if self._tar.silent:
            for piece in self._reader.pieces(spliced):
                self._out.write(piece)
        else:
            for data in self._reader.inflated(spliced, size, self._out.write):
                (watch or unseen)(data)
                self._tar.update(data)
        self._out.write(member_tail(spliced.crc, size))

    def finish(self, end: bytes) -> None:
        """See `Sink.finish`."""
        self.plain(end)
        self._flush()
        self._out.flush()

    def close(self) -> None:
        """See `Sink.close`."""
        self._reader.close()

    def _flush(self) -> None:
        if self._pending:
            data = bytes(self._pending)
            self._out.write(packed(data, fixed_block(data)))
            self._pending.clear()


class CompressingSink:
    """One compressor for the whole tar.

    Args:
        write: Receives the bytes of the blob.
        tar: Digests the tar inside.
        compressor: Packs it.
    """

    def __init__(self, write: Callable[[bytes], object], tar: Digesting, compressor: Compressor) -> None:
        self._out = Buffer(write)
        self._tar = tar
        self._reader = Reader()
        self._compressor = compressor
        self.contents = ""

    def begin(self, member: Member, link_to: str = "") -> None:
        """See `Sink.begin`."""
        self.plain(b"".join(headers(member, link_to=link_to)))

    def plain(self, data: bytes) -> None:
        """See `Sink.plain`."""
        self._tar.update(data)
        self._out.write(self._compressor.compress(data))

    def content(self, stream: BinaryIO, size: int) -> None:
        """See `Sink.content`."""
        for piece in read(stream, size):
            self.plain(piece)

    def splice(self, spliced: Spliced, size: int, watch: Watch | None = None) -> None:
        """See `Sink.splice`."""
        for data in self._reader.inflated(spliced, size):
            (watch or unseen)(data)
            self.plain(data)

    def finish(self, end: bytes) -> None:
        """See `Sink.finish`."""
        self.plain(end)
        self._out.write(self._compressor.flush())
        self._out.flush()

    def close(self) -> None:
        """See `Sink.close`."""
        self._reader.close()


class NoCompressor:
    """A compressor that returns its input."""

    def compress(self, data: bytes, /) -> bytes:
        """See `Compressor.compress`."""
        return data

    def flush(self) -> bytes:
        """See `Compressor.flush`."""
        return b""


class GzipCompressor:
    """A deflate stream as one gzip member, without name and time.

    Args:
        deflate: Starts the stream.
    """

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


def unseen(_data: bytes) -> None:
    """Ignore a piece."""


def packer_of(layer_format: LayerFormat) -> str:
    """Return the version of libzstd if it affects the bytes of layers; empty for the other formats."""
    return f"zstd {zstd_compressor()[1]}, level {_ZSTD_LEVEL}" if layer_format is LayerFormat.ZSTD else ""


class Buffer:
    """A buffer for small writes.

    Attributes:
        size: Bytes so far.
    """

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self.size = 0
        self._write = write
        self._pending = bytearray()

    def write(self, data: bytes) -> None:
        """Add the next bytes."""
        self.size += len(data)
        if len(data) >= _BUFFER:
            self.flush()
            self._write(data)
            return
        self._pending += data
        if len(self._pending) >= _BUFFER:
            self.flush()

    def flush(self) -> None:
        """Write what is pending."""
        if self._pending:
            self._write(bytes(self._pending))
            self._pending.clear()


def read(stream: BinaryIO, size: int, step: int = CHUNK) -> Iterator[bytes]:
    """Yield the next `size` bytes of a stream, at most `step` at a time.

    Raises:
        VerificationFailed: The stream ends before.
    """
    left = size
    while left:
        piece = stream.read(min(left, step))
        if not piece:
            raise VerificationFailed("a file became shorter while it was being packed", hint="run the command again")
        left -= len(piece)
        yield piece
