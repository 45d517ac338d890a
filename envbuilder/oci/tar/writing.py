"""Writer of a tree as a tar that depends on nothing but the tree.

The order is that of the paths as bytes, owner names are empty, and the headers are those of `headers.py`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.digests import digits_of
from envbuilder.core.errors import VerificationFailed
from envbuilder.core.files import CHUNK, replacing
from envbuilder.oci.store import Writer
from envbuilder.oci.tar.headers import END, headers, ordered, padding
from envbuilder.oci.tar.members import Kind, Member


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A written tar.

    Attributes:
        sha256: 64 hexadecimal digits, of the file on disk.
        size: Bytes on disk.
    """

    path: Path
    sha256: str
    size: int


def write(members: Iterable[Member], out: Path, *, gzipped: bool = False) -> Written:
    """Write members as a tar, sorted by path; `out` appears only after it is complete.

    Members that share a file (equal `identity`) become hard links to the first of them in that order. Contents are
    streamed. The gzip variant (level 6, no name, no time) has equal bytes with the same version of zlib.

    Raises:
        VerificationFailed: A file became shorter while it was read.
        ValueError: A path occurs twice.
    """
    with replacing(out) as stream:
        writer = Writer(stream)
        packer = zlib.compressobj(6, zlib.DEFLATED, 31) if gzipped else None
        for chunk in tar_blocks(ordered(members)):
            writer.write(packer.compress(chunk) if packer else chunk)
        if packer:
            writer.write(packer.flush())
    return Written(path=out, sha256=digits_of(writer.digest), size=writer.size)


def tar_blocks(members: Iterable[Member]) -> Iterator[bytes]:
    """Yield a tar of members, in their order, in pieces of at most a megabyte.

    Raises:
        VerificationFailed: A file became shorter while it was read.
    """
    first_of: dict[str, str] = {}
    for member in members:
        first = first_of.setdefault(member.identity, member.path) if member.identity else member.path
        if first != member.path:
            yield from headers(member, link_to=first)
            continue
        yield from headers(member)
        if member.kind is Kind.FILE:
            yield from _content(member)
    yield END


def _content(member: Member) -> Iterator[bytes]:
    left = member.size
    if not left:
        return
    with member.open() as stream:
        while left:
            chunk = stream.read(min(left, CHUNK))
            if not chunk:
                raise VerificationFailed(
                    f"{member.path} became shorter while it was being packed",
                    hint="try again while no process writes to it",
                )
            left -= len(chunk)
            yield chunk
    yield padding(member.size)
