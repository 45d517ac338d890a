"""Read single files of a wheel on the package index without downloading the wheel."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from envbuilder.core.errors import SourceUnreachable
from envbuilder.core.http.web import WebResponse
from envbuilder.lock.index.index import Index, IndexFile

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_BUFFER = 1 << 20
_PARTIAL = 206


class Reader(Protocol):
    """Sends a request that only reads."""

    def asked(self, url: str, headers: Mapping[str, str]) -> AbstractContextManager[WebResponse]:
        """Yield the answer of a server."""
        ...


class RangedFile(io.RawIOBase):
    """A file on a server as a seekable stream; each read is one range request."""

    def __init__(self, web: Reader, url: str, size: int) -> None:
        self._web = web
        self._url = url
        self._size = size
        self._place = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position in bytes."""
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position; see `io.IOBase.seek`."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = start + offset
        return self._place

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Fill a buffer from the position on; return how many bytes were read."""
        view = memoryview(buffer).cast("B")
        count = min(len(view), self._size - self._place)
        if count <= 0:
            return 0
        wanted = f"bytes={self._place}-{self._place + count - 1}"
        with self._web.asked(self._url, {"Range": wanted}) as answer:
            if answer.status != _PARTIAL:
                raise SourceUnreachable(f"the package index does not serve parts of files: HTTP status {answer.status}")
            data = b""
            while len(data) < count and (piece := answer.read(count - len(data))):
                data += piece
        view[: len(data)] = data
        self._place += len(data)
        return len(data)


def linux_wheel(index: Index, package: str, version: str) -> IndexFile:
    """Return the first x86_64 Linux wheel of a release, or its only pure Python wheel.

    Raises:
        SourceUnreachable: The index lists neither.
    """
    listed = index.files(package, version)
    for file in listed:
        if ("manylinux" in file.file and "x86_64" in file.file) or file.file.endswith("-none-any.whl"):
            return file
    raise SourceUnreachable(f"{package} {version} has no Linux wheel: the index lists {len(listed)} files")


def open_wheel(web: Reader, file: IndexFile) -> zipfile.ZipFile:
    """Open a wheel on the index as a zip archive."""
    return zipfile.ZipFile(io.BufferedReader(RangedFile(web, file.url, file.size), _BUFFER))
