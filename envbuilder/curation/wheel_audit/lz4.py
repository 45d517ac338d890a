"""Decompression of the beginning of an LZ4 block, which the standard library does not support."""

from __future__ import annotations

from envbuilder.core.corrupt_file import Damaged

_SHORTEST_MATCH = 4
_MORE = 15


def unpack_start(block: bytes, limit: int) -> bytes:
    r"""Return the first `limit` bytes of an unpacked block, or all of it if it is shorter.

    Args:
        block: The block, or enough of its beginning.
        limit: Number of bytes.

    Raises:
        Damaged: It refers to bytes before its start.

    Source: https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md

    Example:
        >>> unpack_start(b"\x11a\x01\x00\x10b", 100)
        b'aaaaaab'
    """
    unpacked = bytearray()
    at = 0
    while at < len(block) and len(unpacked) < limit:
        token = block[at]
        count, at = _length(block, at + 1, token >> 4)
        unpacked += block[at : at + count]
        at += count
        if at + 2 > len(block):
            break
        back = block[at] | block[at + 1] << 8
        count, at = _length(block, at + 2, token & _MORE)
        _repeat(unpacked, back, min(count + _SHORTEST_MATCH, limit))
    return bytes(unpacked[:limit])


def _length(block: bytes, at: int, start: int) -> tuple[int, int]:
    """Return a length and the offset after it; 15 in the token means that further bytes follow."""
    length = start
    if start == _MORE:
        while at < len(block):
            more = block[at]
            length += more
            at += 1
            if more != 0xFF:
                break
    return length, at


def _repeat(unpacked: bytearray, back: int, count: int) -> None:
    if not 0 < back <= len(unpacked):
        raise Damaged(f"an LZ4 block that repeats what stands {back} bytes back, {len(unpacked)} bytes from its start")
    piece = bytes(unpacked[-back:])
    unpacked += (piece * (count // back + 1))[:count]
