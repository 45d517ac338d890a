"""Writers of the tar of a layer as a packed blob: one sink for each way to pack it."""

from __future__ import annotations

import hashlib
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import BinaryIO, TypeAlias

from envbuilder.core.errors import VerificationFailed
from envbuilder.core.files import CHUNK
from envbuilder.image.layers.compressors import GzipCompressor
from envbuilder.image.layers.deflate import MEMBER_HEAD, fixed_block, member_tail, packed, stored_block
from envbuilder.image.layers.entries import Entry, Spliced
from envbuilder.image.layers.inflate import Reader
from envbuilder.image.layers.zlib_library import Compressor, Deflate
from envbuilder.oci.tar.headers import END, headers, padding
from envbuilder.oci.tar.members import Kind, Member

_BUFFER = 1 << 18
_SMALL = 1 << 10
"""Contents up to this size in bytes are packed together with the headers around them."""

_TINY = 200
"""Spliced contents up to this size in bytes are too: a gzip member of their own would cost more than it saves."""

_STORED = 0xFFFF

Watch: TypeAlias = Callable[[bytes], None]
"""Receives the unpacked bytes of a content."""

Watcher: TypeAlias = Callable[[Entry], Watch | None]
"""Returns a callback for the content of a spliced entry, if it is unpacked at all; None for no callback."""


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


class Digesting(Buffer):
    """Digests and counts a stream.

    Attributes:
        silent: Nothing is digested or counted.
    """

    def __init__(self, *, silent: bool = False) -> None:
        self.silent = silent
        self._hash = hashlib.sha256()
        super().__init__(self._hash.update)

    def write(self, data: bytes) -> None:
        """Add the next bytes."""
        if not self.silent:
            super().write(data)

    @property
    def digest(self) -> str:
        """`sha256:…` of all bytes so far."""
        self.flush()
        return f"sha256:{self._hash.hexdigest()}"


class Sink(ABC):
    """Writer of entries as a packed tar; a subclass for each way to pack it.

    Args:
        write: Receives the bytes of the blob.
        tar: Digests the tar inside.
    """

    def __init__(self, write: Callable[[bytes], object], tar: Digesting) -> None:
        self._out = Buffer(write)
        self._tar = tar
        self._reader = Reader()

    def write(self, entries: Iterable[Entry], watcher: Watcher) -> str:
        """Write a whole tar; entries of one file become hard links to the first.

        Returns:
            `sha256:…` of the table of contents; empty if the format has none.
        """
        first_of: dict[str, str] = {}
        with closing(self._reader):
            for entry in entries:
                member = entry.member
                first = first_of.setdefault(member.identity, member.path) if member.identity else member.path
                linked = first != member.path
                self._begin(member, first if linked else "")
                if not linked and member.kind is Kind.FILE and member.size:
                    self._content_of(entry, watcher)
            contents = self._finish()
        self._out.flush()
        return contents

    def _content_of(self, entry: Entry, watcher: Watcher) -> None:
        size = entry.member.size
        if entry.spliced:
            self._splice(entry.spliced, size, watcher(entry) or unseen)
        else:
            with entry.member.open() as stream:
                self._content(stream, size)
        self._plain(padding(size))

    def _begin(self, member: Member, link_to: str) -> None:
        """Add the headers of a member; `link_to` is the path that it is a hard link to, or empty."""
        self._plain(b"".join(headers(member, link_to=link_to)))

    @abstractmethod
    def _plain(self, data: bytes) -> None:
        """Add headers, padding or a small content."""

    @abstractmethod
    def _content(self, stream: BinaryIO, size: int) -> None:
        """Add a content that is not packed yet: the next `size` bytes."""

    @abstractmethod
    def _splice(self, spliced: Spliced, size: int, watch: Watch) -> None:
        """Add a content that is packed in a wheel; `watch` receives the unpacked bytes, if it is unpacked at all."""

    @abstractmethod
    def _finish(self) -> str:
        """Add the end of the tar; return the digest of the table of contents, or an empty string."""


class CompressingSink(Sink):
    """One compressor for the whole tar."""

    def __init__(self, write: Callable[[bytes], object], tar: Digesting, compressor: Compressor) -> None:
        super().__init__(write, tar)
        self._compressor = compressor

    def copy(self, tar: BinaryIO, size: int) -> None:
        """Write a tar as it is: the next `size` bytes of a stream."""
        self._content(tar, size)
        self._end()

    def _plain(self, data: bytes) -> None:
        self._tar.write(data)
        self._out.write(self._compressor.compress(data))

    def _content(self, stream: BinaryIO, size: int) -> None:
        for piece in read(stream, size):
            self._plain(piece)

    def _splice(self, spliced: Spliced, size: int, watch: Watch) -> None:
        for data in self._reader.inflated(spliced, size):
            watch(data)
            self._plain(data)

    def _finish(self) -> str:
        self._plain(END)
        self._end()
        return ""

    def _end(self) -> None:
        self._out.write(self._compressor.flush())
        self._out.flush()


class GzipMembersSink(Sink):
    """Gzip with members of their own for contents; the bytes between contents are packed without a library."""

    def __init__(self, write: Callable[[bytes], object], tar: Digesting) -> None:
        super().__init__(write, tar)
        self._pending = bytearray()

    def _plain(self, data: bytes) -> None:
        self._tar.write(data)
        self._pending += data

    def _end_member(self) -> None:
        """End the member of the bytes since the last content."""
        if self._pending:
            data = bytes(self._pending)
            self._out.write(packed(data, fixed_block(data)))
            self._pending.clear()


class SplicingSink(GzipMembersSink):
    """Gzip with one member for each content as packed in its wheel.

    Args:
        tar: As in `Sink`; if it is silent, spliced contents are not unpacked.
        deflate: Compresses contents that are not from a wheel; None stores them, so that no library affects the bytes.
    """

    def __init__(self, write: Callable[[bytes], object], tar: Digesting, deflate: Deflate | None = None) -> None:
        super().__init__(write, tar)
        self._deflate = deflate

    def _content(self, stream: BinaryIO, size: int) -> None:
        if size <= _SMALL:
            self._plain(b"".join(read(stream, size)))
            return
        self._end_member()
        if self._deflate:
            compressor = GzipCompressor(self._deflate)
            for piece in read(stream, size):
                self._tar.write(piece)
                self._out.write(compressor.compress(piece))
            self._out.write(compressor.flush())
            return
        self._out.write(MEMBER_HEAD)
        crc, left = 0, size
        for piece in read(stream, size, _STORED):
            left -= len(piece)
            crc = zlib.crc32(piece, crc)
            self._tar.write(piece)
            self._out.write(stored_block(piece, final=not left))
        self._out.write(member_tail(crc, size))

    def _splice(self, spliced: Spliced, size: int, watch: Watch) -> None:
        if size <= _TINY:
            self._plain(b"".join(self._reader.inflated(spliced, size)))
            return
        self._end_member()
        self._out.write(MEMBER_HEAD)
        if self._tar.silent:
            for piece in self._reader.pieces(spliced):
                self._out.write(piece)
        else:
            for data in self._reader.inflated(spliced, size, self._out.write):
                watch(data)
                self._tar.write(data)
        self._out.write(member_tail(spliced.crc, size))

    def _finish(self) -> str:
        self._plain(END)
        self._end_member()
        return ""


def unseen(_data: bytes) -> None:
    """Ignore a piece."""


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
