"""Write a tree as a tar that depends on nothing but the tree.

The standard library's writer is left aside on purpose: what it writes changed between Python versions (PAX headers,
owner names), and its order is the caller's. Here the order is that of the paths as bytes, owner names are empty, and
every header is plain USTAR unless a path is too long for it.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from envbuilder.bases.members import Kind, Member
from envbuilder.errors import VerificationFailed
from envbuilder.files import CHUNK, replacing

_BLOCK = 512
_HARDLINK = b"1"
_LONG_TARGET = b"K"
_LONG_PATH = b"L"
_PAX = b"x"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A tar that was written.

    Attributes:
        path: Where it is.
        sha256: 64 hexadecimal digits, of the file as it is on disk.
        size: Bytes on disk.
    """

    path: Path
    sha256: str
    size: int


def write(members: Iterable[Member], out: Path, *, gzipped: bool = False) -> Written:
    """Write members as a tar, sorted by path; `out` appears only when it is complete.

    Members that share a file (equal `identity`) become hard links to the first of them in that order. Contents are
    streamed. The gzip variant (level 6, no name, no time) has equal bytes wherever zlib is the same library.

    Args:
        members: In any order; no path may come twice.
        out: File to write; its folder must exist.
        gzipped: Compress.

    Raises:
        VerificationFailed: A file became shorter while it was read.
        ValueError: A path comes twice.
    """
    with replacing(out) as stream:
        sink = _Sink(stream=stream, packer=zlib.compressobj(6, zlib.DEFLATED, 31) if gzipped else None)
        for chunk in _blocks(_ordered(members)):
            sink.write(chunk)
        sink.finish()
    return Written(path=out, sha256=sink.digest.hexdigest(), size=sink.size)


@dataclass(slots=True, kw_only=True)
class _Sink:
    """Counts and digests what reaches the disk."""

    stream: BinaryIO
    packer: zlib._Compress | None
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    size: int = 0

    def write(self, data: bytes) -> None:
        self._store(self.packer.compress(data) if self.packer else data)

    def finish(self) -> None:
        if self.packer:
            self._store(self.packer.flush())

    def _store(self, data: bytes) -> None:
        self.digest.update(data)
        self.size += len(data)
        self.stream.write(data)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _ordered(members: Iterable[Member]) -> list[Member]:
    ordered = sorted(members, key=lambda member: _encoded(member.path))
    for before, after in pairwise(ordered):
        if before.path == after.path:
            raise ValueError(f"{after.path!r} comes twice")
    return ordered


def _blocks(members: Iterable[Member]) -> Iterator[bytes]:
    first_of: dict[str, str] = {}
    for member in members:
        first = first_of.setdefault(member.identity, member.path) if member.identity else member.path
        if first != member.path:
            yield from _headers(member, _HARDLINK, target=first)
            continue
        yield from _headers(member, member.kind.value, target=member.target)
        if member.kind is Kind.FILE:
            yield from _content(member)
    yield bytes(2 * _BLOCK)


def _content(member: Member) -> Iterator[bytes]:
    left = member.size
    if not left:
        return
    with member.open() as stream:
        while left:
            chunk = stream.read(min(left, CHUNK))
            if not chunk:
                raise VerificationFailed(
                    f"{member.path} became shorter while it was packed", hint="try again when nothing writes to it"
                )
            left -= len(chunk)
            yield chunk
    yield _padding(member.size)


def _padding(size: int) -> bytes:
    return bytes(-size % _BLOCK)


def _headers(member: Member, typeflag: bytes, *, target: str) -> Iterator[bytes]:
    """All headers of one member: extended attributes, long names, then its own."""
    name = _encoded(member.path) + (b"/" if member.kind is Kind.FOLDER else b"")
    link = _encoded(target)
    if member.xattrs and typeflag != _HARDLINK:
        yield from _extra(_PAX, b"././@PaxHeader", b"".join(_pax_record(key, value) for key, value in member.xattrs))
    if len(link) > 100:
        yield from _extra(_LONG_TARGET, b"././@LongLink", link + b"\0")
        link = link[:100]
    prefix, short = _split(name)
    if not short:
        yield from _extra(_LONG_PATH, b"././@LongLink", name + b"\0")
        prefix, short = b"", name[:100]
    size = member.size if typeflag == Kind.FILE.value else 0
    numbers = (member.mode, member.uid, member.gid, size, member.mtime, *member.device)
    yield _header(short, prefix, typeflag, link, numbers)


def _extra(typeflag: bytes, name: bytes, data: bytes) -> Iterator[bytes]:
    yield _header(name, b"", typeflag, b"", (0o644, 0, 0, len(data), 0, 0, 0))
    yield data + _padding(len(data))


def _pax_record(key: str, value: bytes) -> bytes:
    """`LENGTH KEY=VALUE`, where the length counts its own digits."""
    rest = b" " + _encoded(key) + b"=" + value + b"\n"
    length = len(rest)
    while len(str(length)) + len(rest) != length:
        length = len(str(length)) + len(rest)
    return str(length).encode() + rest


def _split(name: bytes) -> tuple[bytes, bytes]:
    """USTAR's prefix and name; the name is empty when no slash divides the path well enough."""
    if len(name) <= 100:
        return b"", name
    slash = name.find(b"/", len(name) - 101, len(name) - 1)
    if 0 < slash <= 155:
        return name[:slash], name[slash + 1 :]
    return b"", b""


def _header(name: bytes, prefix: bytes, typeflag: bytes, link: bytes, numbers: tuple[int, ...]) -> bytes:
    mode, uid, gid, size, mtime, major, minor = numbers
    fields = (
        name.ljust(100, b"\0"),
        _number(mode, 8) + _number(uid, 8) + _number(gid, 8) + _number(size, 12) + _number(max(mtime, 0), 12),
        b" " * 8,
        typeflag,
        link.ljust(100, b"\0"),
        b"ustar\x0000",
        bytes(64),
        _number(major, 8) + _number(minor, 8),
        prefix.ljust(155, b"\0"),
        bytes(12),
    )
    block = b"".join(fields)
    checksum = b"%06o\0 " % sum(block)
    return block[:148] + checksum + block[156:]


def _number(value: int, width: int) -> bytes:
    """Octal with a final NUL; GNU's base 256 when it does not fit (files from 8 GiB on, very large user ids)."""
    if value < 8 ** (width - 1):
        return b"%0*o\0" % (width - 1, value)
    return b"\x80" + value.to_bytes(width - 1, "big")
