"""Large deflate streams, cut between their blocks into streams of which each can be unpacked alone.

Blocks are copied as they are, shifted by a few bits. Only what follows a cut is compressed again: a block may repeat up
to 32 KiB of what is before it. So the result depends on the stream, and on the zlib whose bytes are pinned.

Source: https://www.rfc-editor.org/rfc/rfc1951 (3.2.3 block format, 3.2.4 stored blocks)
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, takewhile

from envbuilder.image.layers.block_inflater import BlockEnd, BlockInflater
from envbuilder.image.layers.deflate import stored_block
from envbuilder.image.layers.zlib_library import Deflate

WINDOW = 32 << 10
"""Bytes that a block may refer back to."""

_START = BlockEnd(bit=0, byte=0)
_TYPE = 0b110
_NO_MORE = (0b011, 10)
"""Bits of an empty last block with the fixed codes, and their number."""


def cut(stream: Iterable[bytes], most: int, deflate: Deflate) -> Iterator[tuple[bytes, bytes]]:
    """Cut a deflate stream.

    Args:
        stream: The stream, in pieces of any size.
        most: Maximum size in bytes of the content of a part; at least twice `WINDOW`.
        deflate: Compresses what follows a cut.

    Yields:
        For each part, a deflate stream and its content. The content ends at the last block that fits into `most`; if
        none does, since a block is larger, in that block.

    Raises:
        zlib.error: The stream is damaged, or has other bytes after its end.
    """
    blocks = _Blocks(most, deflate)
    inflater = BlockInflater()
    try:
        for piece in stream:
            blocks.packed += piece
            for data, end in inflater.unpack(piece):
                blocks.add(data, end)
                while len(blocks.content) > most:
                    yield blocks.first_part()
        inflater.require_end()
    finally:
        inflater.close()
    if blocks.content:
        yield blocks.last_part()


class _Blocks:
    """What follows the last cut.

    Attributes:
        packed: The stream.
        content: The same, unpacked.
    """

    def __init__(self, most: int, deflate: Deflate) -> None:
        self.packed = bytearray()
        self.content = bytearray()
        self._most = most
        self._deflate = deflate
        self._start = _START
        self._base = 0
        self._ends: list[BlockEnd] = []

    def add(self, data: bytes, end: BlockEnd | None) -> None:
        self.content += data
        if end:
            self._ends.append(end)

    def first_part(self) -> tuple[bytes, bytes]:
        most = self._start.byte + self._most
        fitting = list(takewhile(lambda end: end.byte <= most, self._ends))
        stop = fitting[-1].byte if fitting and fitting[-1].byte > self._start.byte else most
        return self._part(stop, fitting, is_last=False)

    def last_part(self) -> tuple[bytes, bytes]:
        return self._part(self._start.byte + len(self.content), self._ends, is_last=True)

    def _part(self, stop: int, ends: Sequence[BlockEnd], *, is_last: bool) -> tuple[bytes, bytes]:
        content = bytes(memoryview(self.content)[: stop - self._start.byte])
        stream = self._stream(content, stop, ends, is_last=is_last)
        del self.content[: len(content)]
        del self._ends[: len(ends)]
        # What is left begins with the block of the cut, which may be in the middle of a byte.
        self._start = BlockEnd(bit=ends[-1].bit if ends else self._start.bit, byte=stop)
        used = self._start.bit // 8 - self._base
        del self.packed[:used]
        self._base += used
        return stream, content

    def _stream(self, content: bytes, stop: int, ends: Sequence[BlockEnd], *, is_last: bool) -> bytes:
        independent = self._start.byte + WINDOW if self._start.byte else 0
        copied = [end for end in (_START, *ends) if end.byte >= independent]
        compressor = self._deflate()
        if len(copied) < 2 or copied[-1].byte != stop:
            return compressor.compress(content) + compressor.flush()
        bits = _Bits()
        if again := copied[0].byte - self._start.byte:
            bits.add_bytes(compressor.compress(content[:again]) + compressor.flush(zlib.Z_SYNC_FLUSH))
        for first, last in _runs([(self._header(one), one, other) for one, other in pairwise(copied)]):
            if self._header(first) & _TYPE:
                self._copy(bits, first.bit, last.bit)
            else:
                bits.add(self._header(first) & 1, 3)
                bits.align()
                place = content[first.byte - self._start.byte : last.byte - self._start.byte]
                bits.add_bytes(stored_block(place, final=False)[1:])
        if not is_last:
            bits.add(*_NO_MORE)
        bits.align()
        return bytes(bits.parts)

    def _header(self, start: BlockEnd) -> int:
        """Return the first bits of the block that begins where another one ends."""
        place, shift = start.bit // 8 - self._base, start.bit % 8
        return int.from_bytes(self.packed[place : place + 2], "little") >> shift & 0b111

    def _copy(self, bits: _Bits, first: int, last: int) -> None:
        start, stop = first // 8 - self._base, (last + 7) // 8 - self._base
        value = int.from_bytes(memoryview(self.packed)[start:stop], "little") >> first % 8
        bits.add(value & ((1 << (last - first)) - 1), last - first)


def _runs(blocks: Sequence[tuple[int, BlockEnd, BlockEnd]]) -> Iterator[tuple[BlockEnd, BlockEnd]]:
    """Yield start and end of each stored block, and of each run of others, which are copied at once."""
    run: tuple[BlockEnd, BlockEnd] | None = None
    for header, start, end in blocks:
        if header & _TYPE:
            run = (run[0] if run else start, end)
            continue
        if run:
            yield run
        run = None
        yield start, end
    if run:
        yield run


class _Bits:
    """A stream of bits.

    Attributes:
        parts: Its whole bytes.
    """

    def __init__(self) -> None:
        self.parts = bytearray()
        self._pending = 0
        self._count = 0

    def add(self, value: int, count: int) -> None:
        """Append bits, the lowest first."""
        self._pending |= value << self._count
        whole, self._count = divmod(self._count + count, 8)
        self.parts += (self._pending & ((1 << whole * 8) - 1)).to_bytes(whole, "little")
        self._pending >>= whole * 8

    def align(self) -> None:
        """Append zeros up to the end of a byte."""
        if self._count:
            self.add(0, 8 - self._count)

    def add_bytes(self, data: bytes) -> None:
        """Append bytes at the end of a byte."""
        self.parts += data
