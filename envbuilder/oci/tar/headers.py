"""Tar headers with exactly defined bytes.

The standard library's headers are not used, since they changed between Python versions (PAX headers, owner names).
Every header is plain USTAR unless a path is too long for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from envbuilder.oci.tar.members import Kind, Member

BLOCK = 512
END = bytes(2 * BLOCK)
"""End of a tar."""

HARDLINK = b"1"
_LONG_TARGET = b"K"
_LONG_PATH = b"L"
_PAX = b"x"


def encoded(text: str) -> bytes:
    """Return a path in the encoding of a tar."""
    return text.encode("utf-8", "surrogateescape")


def ordered(members: Iterable[Member]) -> list[Member]:
    """Return members in the order of their paths as bytes, so that directories precede their contents.

    Raises:
        ValueError: A path occurs twice.
    """
    ordered = sorted(members, key=lambda member: encoded(member.path))
    for before, after in pairwise(ordered):
        if before.path == after.path:
            raise ValueError(f"{after.path!r} is contained twice")
    return ordered


def padding(size: int) -> bytes:
    """Return the padding after a content of this size."""
    return bytes(-size % BLOCK)


def headers(member: Member, *, link_to: str = "") -> Iterator[bytes]:
    """Yield all headers of one member: extended attributes, long names, then its own.

    `link_to` is the path of the member that it is a hard link to; empty if it is not one.
    """
    typeflag = HARDLINK if link_to else member.kind.value
    target = link_to or member.target
    name = encoded(member.path) + (b"/" if member.kind is Kind.FOLDER else b"")
    link = encoded(target)
    if member.xattrs and typeflag != HARDLINK:
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
    yield data + padding(len(data))


def _pax_record(key: str, value: bytes) -> bytes:
    """Return `LENGTH KEY=VALUE`, where the length includes its own digits."""
    rest = b" " + encoded(key) + b"=" + value + b"\n"
    length = len(rest)
    while len(str(length)) + len(rest) != length:
        length = len(str(length)) + len(rest)
    return str(length).encode() + rest


def _split(name: bytes) -> tuple[bytes, bytes]:
    """Return USTAR's prefix and name; the name is empty if no slash divides the path suitably."""
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
    """Return a number in octal with a final NUL; in GNU's base 256 if it does not fit (8 GiB, large user ids)."""
    if value < 8 ** (width - 1):
        return b"%0*o\0" % (width - 1, value)
    return b"\x80" + value.to_bytes(width - 1, "big")
