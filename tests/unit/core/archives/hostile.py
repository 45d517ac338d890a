"""Archives that no honest tool writes, byte by byte."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

END = bytes(1024)


def header(
    name: bytes = b"f",
    *,
    size: bytes = b"00000000000\0",
    uid: bytes = b"0000000\0",
    gid: bytes = b"0000000\0",
    mtime: bytes = b"00000000000\0",
    flag: bytes = b"0",
    link: bytes = b"",
) -> bytes:
    """The header of a member of a tar, with the right checksum."""
    fields = name.ljust(100, b"\0") + b"0000644\0" + uid + gid + size + mtime + b" " * 8 + flag
    fields += link.ljust(100, b"\0") + b"ustar\x0000" + bytes(247)
    return fields[:148] + b"%06o\0 " % sum(fields) + fields[156:]


def octal(number: int) -> bytes:
    """A size or a time."""
    return b"%011o\0" % number


def base256(number: int, width: int) -> bytes:
    """A number that does not fit in octal digits, or is negative."""
    mark = b"\xff" if number < 0 else b"\x80"
    return mark + number.to_bytes(width - 1, "big", signed=number < 0)


def pax(*records: tuple[bytes, bytes]) -> bytes:
    """A PAX header with some records."""
    data = b""
    for key, value in records:
        rest = b" " + key + b"=" + value + b"\n"
        length = len(rest)
        while len(str(length)) + len(rest) != length:
            length = len(str(length)) + len(rest)
        data += str(length).encode() + rest
    return header(b"pax", size=octal(len(data)), flag=b"x") + data + bytes(-len(data) % 512)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipPart:
    """A member of a zip.

    Attributes:
        name: Its name in the directory.
        data: Its bytes as they lie in the file.
        size: Bytes that it claims, unpacked; None for those of `data`.
        crc: The CRC that it claims; None for that of `data`.
        method: 0 stored, 8 deflated.
        at: Number of the member whose bytes it claims too; None for its own.
        packed: Packed bytes that it claims; None for those of `data`.
        local: Its name in front of its bytes; None for the same.
    """

    name: bytes
    data: bytes
    size: int | None = None
    crc: int | None = None
    method: int = 0
    at: int | None = None
    packed: int | None = None
    local: bytes | None = None


def zipped(parts: Iterable[ZipPart]) -> bytes:
    """A zip whose directory says what the parts say."""
    body, directory, offsets = b"", b"", list[int]()
    for part in parts:
        crc = zlib.crc32(part.data) if part.crc is None else part.crc
        size = len(part.data) if part.size is None else part.size
        packed = len(part.data) if part.packed is None else part.packed
        numbers = (part.method, 0, 0x21, crc, packed, size)
        offset = len(body) if part.at is None else offsets[part.at]
        offsets.append(offset)
        if part.at is None:
            local = part.name if part.local is None else part.local
            body += struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 20, 0, *numbers, len(local), 0) + local + part.data
        directory += struct.pack("<4sHHHHHHIII", b"PK\1\2", 0x314, 20, 0, *numbers)
        directory += struct.pack("<HHHHHII", len(part.name), 0, 0, 0, 0, 0o644 << 16, offset) + part.name
    count = len(offsets)
    return body + directory + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, count, count, len(directory), len(body), 0)


def deflated(data: bytes) -> bytes:
    """A deflate stream as it lies in a zip."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()
