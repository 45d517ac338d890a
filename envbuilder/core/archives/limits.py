"""Limits on the contents of an archive, checked while it is read."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import IO, Protocol, cast

from envbuilder.core.archives.member_names import BadArchive


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """Limits on the contents of an archive.

    Attributes:
        member: Bytes of one member; TensorFlow's largest library has 1.0 GB (2.20).
        total: Bytes of all members.
        members: Number of members; tensorflow 2.17.1 has 25,448.
        names: Bytes of all names; those of tensorflow 2.17.1 have 2 MB.
        ratio: Decompressed bytes for each compressed one. Of 219 wheels and 425 packages of Debian 12 none had more
            than 15.
        free: Decompressed bytes that are allowed regardless of the ratio.

    Source:
        The wheels and packages of a dozen environments of the catalog, measured 2026-11-22. The maximum ratio of
        deflate is 1032 (https://zlib.net/zlib_tech.html), that of xz 7,000.
    """

    member: int = 16 << 30
    total: int = 64 << 30
    members: int = 300_000
    names: int = 128 << 20
    ratio: int = 200
    free: int = 512 << 20


LIMITS = ArchiveLimits()
"""Limits of wheels, source distributions, packages, interpreters and layers."""


class Budget:
    """Remaining budget of an archive, by the bytes of its compressed form, while it is read."""

    def __init__(self, packed: int, limits: ArchiveLimits = LIMITS) -> None:
        self._limits = limits
        self._total = min(limits.total, max(limits.free, packed * limits.ratio))
        self._bytes = 0
        self._members = 0
        self._names = 0

    def spend(self, size: int) -> None:
        """Count decompressed bytes.

        Raises:
            BadArchive: The limit is exceeded.
        """
        self._bytes += size
        if self._bytes > self._total:
            raise BadArchive(f"it unpacks to more than {self._total} bytes")

    def meet(self, name: str, size: int = 0) -> None:
        """Count a member with the size that the archive states.

        Raises:
            BadArchive: There are too many members, or this one is too large.
        """
        self._members += 1
        self._names += len(name)
        if self._members > self._limits.members or self._names > self._limits.names:
            raise BadArchive(f"it has more than {self._limits.members} members, or {self._limits.names} bytes of names")
        if size > self._limits.member:
            raise BadArchive(f"{name[:80]!r} claims {size} bytes; no more than {self._limits.member} are unpacked")


class ByteStream(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes; fewer only at the end."""
        ...


class Bounded(io.RawIOBase):
    """Output of a decompressor, limited by a budget."""

    def __init__(self, source: ByteStream | IO[bytes], budget: Budget) -> None:
        super().__init__()
        self._source = source
        self._budget = budget

    def readable(self) -> bool:
        """See `io.RawIOBase`."""
        return True

    def readinto(self, buffer: object) -> int:
        """See `io.RawIOBase`."""
        view = memoryview(cast("bytearray", buffer))
        data = self._source.read(len(view))
        self._budget.spend(len(data))
        view[: len(data)] = data
        return len(data)
