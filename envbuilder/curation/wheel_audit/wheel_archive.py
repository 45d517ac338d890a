"""A wheel as a zip file: its members are read one at a time, with limits on their sizes."""

from __future__ import annotations

import errno
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from envbuilder.core.archives.zip_reader import BROKEN
from envbuilder.core.corrupt_file import invalid
from envbuilder.core.errors import DiskFull
from envbuilder.core.files import CHUNK

LARGEST_TEXT = 16 << 20
"""Bytes of metadata or source text; TensorFlow's largest has 30 kB."""

LARGEST_LIBRARY = 8 << 30
"""Bytes of one unpacked library; TensorFlow's largest has 1.0 GB (2.20)."""

LARGEST_WHEEL = 32 << 30
"""Bytes of everything in a wheel, unpacked; TensorFlow's largest has 2 GB."""


class WheelArchive:
    """An open wheel.

    Attributes:
        file: Its path as the user knows it.
    """

    def __init__(self, file: str, archive: zipfile.ZipFile) -> None:
        self.file = file
        self._archive = archive
        self._members = {info.filename: info for info in archive.infolist() if not info.filename.endswith("/")}

    @property
    def names(self) -> tuple[str, ...]:
        """Paths of all members, sorted."""
        return tuple(sorted(self._members))

    def size(self, name: str) -> int:
        """Return the unpacked size of a member in bytes, as stated in the zip."""
        return self._members[name].file_size

    def text(self, name: str) -> str:
        """Return a member as text.

        Raises:
            InvalidInput: It is damaged, too large or not UTF-8.
        """
        self._require(name, LARGEST_TEXT)
        with self._damage(name):
            return self._archive.read(self._members[name]).decode("utf-8")

    @contextmanager
    def unpacked(self, name: str, work: Path) -> Iterator[BinaryIO]:
        """Yield a member as a temporary file in `work`, removed when the block ends.

        Raises:
            InvalidInput: It is damaged or too large.
            DiskFull: There is no room for it.
        """
        self._require(name, LARGEST_LIBRARY)
        with tempfile.TemporaryFile(dir=work, prefix="envbuilder-audit-") as target:
            with self._damage(name), self._archive.open(self._members[name]) as source:
                shutil.copyfileobj(source, target, CHUNK)
                target.seek(0)
            yield target

    def _require(self, name: str, limit: int) -> None:
        size = self.size(name)
        if size > limit:
            raise invalid(self.file, name, f"claims to have {size} bytes unpacked; no more than {limit} are read")

    @contextmanager
    def _damage(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                raise DiskFull(f"no room to unpack {name}, {self.size(name)} bytes") from error
            raise invalid(self.file, name, f"cannot be unpacked: {error}") from error
        except BROKEN as error:
            raise invalid(self.file, name, f"cannot be unpacked: {error or type(error).__name__}") from error


@contextmanager
def open_wheel(path: Path) -> Iterator[WheelArchive]:
    """Open a wheel.

    Raises:
        InvalidInput: It does not exist, is not a zip file, or states an absurd size.
    """
    try:
        archive = zipfile.ZipFile(path)
    except OSError as error:
        raise invalid(str(path), "", f"cannot be read: {error.strerror or error}", hint="") from error
    except BROKEN as error:
        raise invalid(str(path), "", f"is not a wheel: {error or type(error).__name__}") from error
    with archive:
        whole = sum(info.file_size for info in archive.infolist())
        if whole > LARGEST_WHEEL:
            raise invalid(
                str(path), "", f"claims to have {whole} bytes unpacked; no more than {LARGEST_WHEEL} are read"
            )
        yield WheelArchive(str(path), archive)
