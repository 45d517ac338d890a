"""Reader of a tar that may be compressed: its members in order, each with its content."""

from __future__ import annotations

import io
from collections.abc import Iterator

from envbuilder.core.archives.decompression import packing_by, unpacked
from envbuilder.core.archives.limits import Budget
from envbuilder.core.archives.tar_reader import PlainStream, TarEntry, TarReader
from envbuilder.core.files import CHUNK

_HEAD = 6


def members(stream: io.BufferedReader, size: int, subject: str = "it") -> Iterator[tuple[TarEntry, TarReader]]:
    """Yield the members of a tar with the reader of their content, which advances with them.

    The stream is read to its end after the last member, since the checksum of a compressed one is there.

    Args:
        stream: The tar, compressed by gzip, bzip2 or xz, or not; need not be seekable.
        size: Bytes of the stream, for the limits.
        subject: Name of the tar in errors.

    Raises:
        BadArchive: It is damaged, exceeds `LIMITS`, or has a member with an unsupported type or name.
    """
    budget = Budget(size)
    with unpacked(stream, packing_by(stream.peek(_HEAD)[:_HEAD]), budget) as plain:
        tar = TarReader(PlainStream(plain), subject, budget)
        for entry in tar.entries():
            yield entry, tar
        while plain.read(CHUNK):
            pass
    while stream.read(CHUNK):
        pass
