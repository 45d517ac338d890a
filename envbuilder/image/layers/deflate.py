"""Deflate streams that do not depend on a compression library.

Headers of a tar are packed as one block with the fixed Huffman codes, in which runs of zeros are repeated; contents
that are not packed in a wheel become stored blocks. Deliberately simple: the digest of a layer depends on it.

Source: https://www.rfc-editor.org/rfc/rfc1951 (3.2.4 stored blocks, 3.2.5 lengths and distances, 3.2.6 fixed codes),
https://www.rfc-editor.org/rfc/rfc1952 (gzip members).
"""

from __future__ import annotations

import re
import struct
import zlib

MEMBER_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
"""Head of a gzip member: no name, no time, system unknown."""

_SHORTEST_RUN = 4
_LONGEST_MATCH = 258
_PIECE = re.compile(rb"\0{%d,}|(?:[^\0]|\0(?!\0{%d}))+" % (_SHORTEST_RUN, _SHORTEST_RUN - 1))
_END_OF_BLOCK = "0000000"
_FINAL_FIXED = "110"
"""Bits in the order of the stream: final block, type 01 with its low bit first."""


def member_tail(crc: int, size: int) -> bytes:
    """Return the end of a gzip member: the checksum of its content, and its size modulo 2³²."""
    return struct.pack("<II", crc, size & 0xFFFFFFFF)


def fixed_block(data: bytes) -> bytes:
    """Return a whole deflate stream of one final block with the fixed codes.

    Example:
        >>> zlib.decompress(fixed_block(b"name" + bytes(508)), wbits=-15) == b"name" + bytes(508)
        True
    """
    bits = [_FINAL_FIXED]
    for match in _PIECE.finditer(data):
        piece = match.group()
        if piece.startswith(bytes(_SHORTEST_RUN)):
            bits.append(_LITERALS[0])
            bits.append(_repeated(len(piece) - 1))
        else:
            bits.extend(map(_LITERALS.__getitem__, piece))
    bits.append(_END_OF_BLOCK)
    text = "".join(bits)
    return int(text[::-1], 2).to_bytes((len(text) + 7) // 8, "little")


def stored_block(data: bytes, *, final: bool) -> bytes:
    """Return one stored block of at most 65535 bytes; the stream must be at a byte boundary."""
    return struct.pack("<BHH", final, len(data), len(data) ^ 0xFFFF) + data


def packed(data: bytes, stream: bytes) -> bytes:
    """Return a gzip member from a content and its deflate stream."""
    return MEMBER_HEAD + stream + member_tail(zlib.crc32(data), len(data))


def _literal(value: int) -> str:
    # Huffman codes start with their highest bit.
    return f"{0x30 + value:08b}" if value < 144 else f"{0x190 + value - 144:09b}"


def _length_code(length: int) -> str:
    """Return the code of a length from 3 to 258, with its extra bits, and of the distance 1."""
    if length == _LONGEST_MATCH:
        symbol, extra, count = 285, 0, 0
    else:
        count = max((length - 3).bit_length() - 3, 0)
        symbol = 257 + 4 * count + ((length - 3) >> count)
        extra = (length - 3) & ((1 << count) - 1)
    code = f"{symbol - 256:07b}" if symbol < 280 else f"{0xC0 + symbol - 280:08b}"
    # Extra bits start with their lowest bit; the distance 1 is the code 0 of five bits.
    return code + f"{extra:0{count}b}"[::-1] * bool(count) + "00000"


def _repeated(count: int) -> str:
    """Return the codes that repeat the previous byte this many times."""
    bits = []
    while count >= 3:
        # Never leave one or two, which would have to be literals.
        length = min(count, _LONGEST_MATCH if count - _LONGEST_MATCH not in {1, 2} else _LONGEST_MATCH - 3)
        bits.append(_LENGTHS[length])
        count -= length
    return "".join(bits)


_LITERALS = [_literal(value) for value in range(256)]
_LENGTHS = {length: _length_code(length) for length in range(3, _LONGEST_MATCH + 1)}
