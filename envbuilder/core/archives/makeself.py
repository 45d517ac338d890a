"""Reader of makeself run files, such as the installers of CUDA: nothing of the shell script in them is executed.

A run file is a shell script, the header, followed by one or more tar archives, usually compressed. The header states
its own number of lines, the bytes of each archive, and their checksums.

Source: `makeself-header.sh` of makeself 2.1.1 to 2.7.2, https://github.com/megastep/makeself; read 2026-11-22. Makeself
2.0 and older do not state the sizes and are not supported.
"""

from __future__ import annotations

import hashlib
import io
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from envbuilder.core.archives import packed_tar
from envbuilder.core.archives.member_names import BadArchive
from envbuilder.core.archives.tar_reader import TarEntry, TarReader
from envbuilder.core.files import CHUNK

_LARGEST_HEADER = 4 << 20
"""Bytes; makeself's own script has 25,000, and a license text may be in it."""

_LONGEST_LINE = 64 << 10
_MOST_DIGITS = 15

_NUMBER = rb"([0-9]{1,%d})" % _MOST_DIGITS
_SKIP = re.compile(rb'skip="%s"\n' % _NUMBER)
_HEAD_LINES = re.compile(rb'\s*offset=`head (?:-n )?-?%s "\$[01]" \| wc -c' % _NUMBER)
_FIELD = re.compile(rb'(filesizes|totalsize|CRCsum|MD5|SHA)="([0-9A-Fa-f ]{0,4096})"\n')
_CKSUM_INITIAL = 0xFFFFFFFF
_REVERSED = bytes(int(f"{number:08b}"[::-1], 2) for number in range(256))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilePart:
    """One archive of a run file.

    Attributes:
        sha256: Stated digest; empty if none is stated.
        md5: Likewise.
        crc: Likewise, in decimal digits, as the program `cksum` prints it.
    """

    size: int
    sha256: str = ""
    md5: str = ""
    crc: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The header of a run file.

    Attributes:
        size: Its bytes; the first archive follows.
        parts: The archives, in order.
        whole: True if it states that nothing follows the last archive.
    """

    size: int
    parts: tuple[RunFilePart, ...]
    whole: bool


def read_header(stream: BinaryIO) -> Header:
    """Read the header of a run file, and leave the stream at the first archive.

    Args:
        stream: The run file, at its start; need not be seekable.

    Raises:
        BadArchive: It is not a run file of makeself 2.1 or later, or its header is damaged.
    """
    fields: dict[str, str] = {}
    lines = size = 0
    total: int | None = None
    while total is None or lines < total:
        line = stream.readline(_LONGEST_LINE)
        size += len(line)
        if not line.endswith(b"\n") or size > _LARGEST_HEADER or not (lines or line.startswith(b"#!")):
            raise BadArchive("it is not a run file of makeself 2.1 or later")
        lines += 1
        total = _total_lines(line) if total is None else total
        if found := _FIELD.fullmatch(line):
            fields.setdefault(found[1].decode(), found[2].decode())
    if lines > total:
        raise BadArchive(f"its header claims {total} lines and has {lines} or more")
    return Header(size=size, parts=_parts(fields), whole="totalsize" in fields)


def members(stream: BinaryIO, size: int) -> Iterator[tuple[TarEntry, TarReader]]:
    """Yield the members of all archives of a run file with the reader of their content, which advances with them.

    Every archive is read to its end, and its stated checksums are verified there: the last member has been yielded by
    then, so that a content can be trusted only after the iteration has ended.

    Args:
        stream: The run file, at its start; need not be seekable.
        size: Bytes of the run file.

    Raises:
        BadArchive: It is not a run file, is damaged or truncated, or has a member with an unsupported type or name.
    """
    header = read_header(stream)
    end = header.size + sum(part.size for part in header.parts)
    if end > size or (header.whole and end != size):
        raise BadArchive(f"its header claims {end} bytes, and it has {size}")
    for part in header.parts:
        yield from packed_tar.members(stream_of(_payload(stream, part)), part.size)


def stream_of(pieces: Iterable[bytes]) -> io.BufferedReader:
    """Return pieces of bytes, such as the content of a member, as one stream."""
    return io.BufferedReader(_Pieces(pieces), CHUNK)


def cksum(size: int, checksum: int) -> int:
    """Return the value that the program `cksum` prints.

    Its CRC has the polynomial of zlib's, most significant bit first, and ends with the length of the content.

    Args:
        size: Bytes of the content.
        checksum: `zlib.crc32` of the content with the bits of each byte reversed, beginning with 0xFFFFFFFF.

    Source: https://pubs.opengroup.org/onlinepubs/9799919799/utilities/cksum.html
    """
    length = size.to_bytes((size.bit_length() + 7) // 8, "little")
    reflected = zlib.crc32(length.translate(_REVERSED), checksum) ^ _CKSUM_INITIAL
    return int(f"{reflected:032b}"[::-1], 2) ^ 0xFFFFFFFF


def _total_lines(line: bytes) -> int | None:
    """Return the number of lines of the header, if a line states it."""
    found = _SKIP.fullmatch(line) or _HEAD_LINES.match(line)
    return int(found[1]) if found else None


def _parts(fields: dict[str, str]) -> tuple[RunFilePart, ...]:
    sizes = fields.get("filesizes", "").split()
    if not sizes or not all(each.isdigit() and len(each) <= _MOST_DIGITS for each in sizes):
        raise BadArchive("its header does not state the size of its archive")
    sums = {name: fields.get(name, "").split() for name in ("SHA", "MD5", "CRCsum")}
    return tuple(
        RunFilePart(
            size=int(size),
            sha256=_stated(sums["SHA"], number),
            md5=_stated(sums["MD5"], number),
            crc=_stated(sums["CRCsum"], number),
        )
        for number, size in enumerate(sizes)
    )


def _stated(sums: list[str], number: int) -> str:
    """Return one of the checksums; empty for none, which makeself writes as zeros."""
    text = sums[number].lower() if number < len(sums) else ""
    return text if text.strip("0") else ""


def _payload(stream: BinaryIO, part: RunFilePart) -> Iterator[bytes]:
    """Yield the content of one archive of a run file, and compare it with its checksums at the end.

    Like makeself, it ignores the CRC if a stronger checksum is stated.

    Raises:
        BadArchive: It ends early, or does not match a stated checksum.
    """
    stated = {"sha256": part.sha256, "md5": part.md5}
    digests = [(hashlib.new(name, usedforsecurity=False), text) for name, text in stated.items() if text]
    has_crc, crc, left = bool(part.crc) and not digests, _CKSUM_INITIAL, part.size
    while left:
        data = stream.read(min(CHUNK, left))
        if not data:
            raise BadArchive(f"it ends {left} bytes early")
        left -= len(data)
        for digest, _ in digests:
            digest.update(data)
        if has_crc:
            crc = zlib.crc32(data.translate(_REVERSED), crc)
        yield data
    for digest, text in digests:
        if digest.hexdigest() != text:
            raise BadArchive(f"its archive has the {digest.name} {digest.hexdigest()}, but its header states {text}")
    if has_crc and str(cksum(part.size, crc)) != part.crc:
        raise BadArchive(f"its archive has the CRC {cksum(part.size, crc)}, its header states {part.crc}")


class _Pieces(io.RawIOBase):
    def __init__(self, pieces: Iterable[bytes]) -> None:
        super().__init__()
        self._pieces = iter(pieces)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count
