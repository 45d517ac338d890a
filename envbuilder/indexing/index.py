"""The port to a package index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from envbuilder.model.closures import Closure


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFile:
    """A file of one release.

    Attributes:
        file: Its name.
        sha256: 64 hexadecimal digits.
        url: Where it is; never written into a file of ours.
    """

    file: str
    sha256: str
    url: str


class Index(Protocol):
    """Knows which files there are."""

    def files(self, package: str, version: str) -> tuple[IndexFile, ...]:
        """The wheels of one release for Python 3.6 and later, of every platform; sorted by name, empty for none.

        Raises:
            SourceUnreachable: The index does not answer.
        """
        ...

    def still_there(self, closure: Closure) -> frozenset[tuple[str, str]]:
        """`(file, sha256)` of the files of a closure that the index lists now; nothing is answered from a cache.

        Raises:
            SourceUnreachable: The index does not answer.
        """
        ...
