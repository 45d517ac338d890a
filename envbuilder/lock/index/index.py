"""Port to a package index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from envbuilder.lock.closures import Chosen, Closure
from envbuilder.lock.lock import PackagePin


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFile:
    """A file of one release.

    Attributes:
        sha256: 64 hexadecimal digits.
        url: Its address; never written into a lock or an image.
        size: Bytes; 0 if the index does not state it.
    """

    file: str
    sha256: str
    url: str
    size: int = 0


Listed: TypeAlias = Chosen | PackagePin
"""A requested file: the result of a resolution, or a pin."""


class Index(Protocol):
    """A package index."""

    def files(self, package: str, version: str) -> tuple[IndexFile, ...]:
        """Return the wheels of one release for Python 3.6 and later on all platforms, sorted by name; empty for none.

        Raises:
            SourceUnreachable: The index does not respond.
        """
        ...

    def locate(self, wanted: Sequence[Listed], python: str) -> tuple[IndexFile, ...]:
        """Return some files with their addresses, in their order.

        Args:
            wanted: The files.
            python: The interpreter that they are for, such as `3.8`.

        Raises:
            NotOnIndex: The index no longer has some of the files.
            SourceUnreachable: The index does not respond.
        """
        ...

    def still_there(self, closure: Closure) -> frozenset[tuple[str, str]]:
        """Return `(file, sha256)` of the files of a closure that the index lists now, without using a cache.

        Raises:
            SourceUnreachable: The index does not respond.
        """
        ...
