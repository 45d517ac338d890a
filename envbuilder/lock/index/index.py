"""The port to a package index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from envbuilder.lock.closures import Closure


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFile:
    """A file of one release.

    Attributes:
        file: Its name.
        sha256: 64 hexadecimal digits.
        url: Where it is; never written into a file of ours.
        size: Bytes; 0 when the index does not say.
    """

    file: str
    sha256: str
    url: str
    size: int = 0


class Listed(Protocol):
    """A file that somebody wants: a pin, or what a resolution chose."""

    @property
    def name(self) -> str:
        """Normalized name of the distribution."""
        ...

    @property
    def version(self) -> str:
        """Its version."""
        ...

    @property
    def file(self) -> str:
        """Name of the file."""
        ...

    @property
    def sha256(self) -> str:
        """64 hexadecimal digits."""
        ...

    @property
    def is_wheel(self) -> bool:
        """Whether it is a wheel; a source distribution otherwise."""
        ...


class Index(Protocol):
    """Knows which files there are."""

    def files(self, package: str, version: str) -> tuple[IndexFile, ...]:
        """The wheels of one release for Python 3.6 and later, of every platform; sorted by name, empty for none.

        Raises:
            SourceUnreachable: The index does not answer.
        """
        ...

    def locate(self, wanted: Sequence[Listed], python: str) -> tuple[IndexFile, ...]:
        """Where some files are, in their order.

        Args:
            wanted: The files.
            python: The interpreter that they are for, such as `3.8`.

        Raises:
            SourceUnreachable: The index does not answer, or does not have one of them any more.
        """
        ...

    def still_there(self, closure: Closure) -> frozenset[tuple[str, str]]:
        """`(file, sha256)` of the files of a closure that the index lists now; nothing is answered from a cache.

        Raises:
            SourceUnreachable: The index does not answer.
        """
        ...
