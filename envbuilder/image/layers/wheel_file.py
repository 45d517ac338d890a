"""Reader of wheels: their files and the offsets of these, without unpacking."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from isal import isal_zlib

from envbuilder.core.archives.member_names import BadArchive, relative_path
from envbuilder.core.archives.zip_reader import opened
from envbuilder.core.errors import VerificationFailed
from envbuilder.image.layers.entries import Spliced
from envbuilder.image.layers.inflate import damaged, inflated
from envbuilder.image.layers.inflate import opened as opened_stream
from envbuilder.oci.tar.members import Section

_EXECUTABLE = 0o111
_LARGEST_FILE = 64 << 20
"""Maximum size of a file that has to be read as a whole, such as a script."""

_LARGEST_TEXT = 16 << 20
"""Maximum size of a text of a wheel; RECORD of tensorflow 2.17.1 has 3.2 MB."""

_LARGEST_TEXTS = {"entry_points.txt": 1 << 20}


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """One file in a wheel.

    Attributes:
        size: Its bytes, unpacked.
        executable: True if the zip marks it as executable.
        crc: CRC-32 of it, from the zip.
        spliced: Its deflate stream; None if it is not packed.
        place: File and offset if it is not packed.
    """

    size: int
    executable: bool
    crc: int
    spliced: Spliced | None
    place: tuple[Path, int]

    def open(self) -> BinaryIO:
        """Return a stream whose next `size` bytes are the file; a read raises as `read` if it is damaged."""
        if self.spliced:
            return opened_stream(self.spliced, self.size)
        return cast("BinaryIO", io.BufferedReader(_Stored(self)))

    def read(self, limit: int = _LARGEST_FILE) -> bytes:
        """Return the whole file.

        Raises:
            VerificationFailed: It is damaged, or larger than `limit` bytes.
        """
        if self.size > limit:
            raise VerificationFailed(
                f"{self.place[0].name} has a text of {self.size} bytes; no more than {limit} are read",
                hint="choose another version of the package",
            )
        if self.spliced:
            return inflated(self.spliced, self.size)
        with self.open() as stream:
            return stream.read(self.size)


class _Stored(Section):
    """A member that is not packed, compared with its CRC after its last byte was read."""

    def __init__(self, content: Content) -> None:
        super().__init__(*content.place, content.size)
        self._content = content
        self._crc = 0

    def readinto(self, buffer: object) -> int:
        size = super().readinto(buffer)
        self._crc = isal_zlib.crc32(memoryview(cast("bytearray", buffer))[:size], self._crc)
        if size and not self._left and self._crc != self._content.crc:
            raise damaged(self._content.place[0], f"its CRC is {self._crc:08x}")
        return size


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """An opened wheel.

    Attributes:
        contents: Every file by its path in the wheel, in the order of its directory.
        folders: Directories that the wheel lists, without a final slash.
    """

    name: str
    contents: dict[str, Content]
    folders: tuple[str, ...]

    @property
    def dist_info(self) -> str:
        """The directory `NAME-VERSION.dist-info`.

        Raises:
            VerificationFailed: There is none, or more than one.
        """
        found = {path.partition("/")[0] for path in self.contents if path.partition("/")[0].endswith(".dist-info")}
        if len(found) != 1:
            raise _invalid(self.name, f"it has {len(found)} directories *.dist-info instead of one")
        return found.pop()

    def text(self, path: str) -> str:
        """Return a file as text; empty if it does not exist.

        Raises:
            VerificationFailed: It is not UTF-8, or damaged.
        """
        content = self.contents.get(path)
        if content is None:
            return ""
        try:
            return content.read(_LARGEST_TEXTS.get(path.rpartition("/")[2], _LARGEST_TEXT)).decode("utf-8")
        except UnicodeDecodeError as error:
            raise _invalid(self.name, f"{path} is not UTF-8") from error


def open_wheel(path: Path, name: str) -> Wheel:
    """Read the directory of a wheel.

    Args:
        path: The file; its content was compared with its hash.
        name: Its name on the index.

    Raises:
        VerificationFailed: It is not a wheel, or must not be installed: encrypted, with paths that lead out of
            the environment, with the same path twice, or with members that overlap or state impossible sizes.
    """
    contents: dict[str, Content] = {}
    folders = []
    try:
        with opened(path) as archive:
            for info in archive.members:
                _require_shortest(info)
                if info.is_dir():
                    folders.append(info.filename.rstrip("/"))
                    continue
                contents[info.filename] = _content(path, info, archive.offset(info))
    except BadArchive as error:
        raise _invalid(name, str(error)) from error
    return Wheel(name=name, contents=contents, folders=tuple(folders))


def _content(path: Path, info: zipfile.ZipInfo, offset: int) -> Content:
    packed = info.compress_type == zipfile.ZIP_DEFLATED
    return Content(
        size=info.file_size,
        executable=bool(info.external_attr >> 16 & _EXECUTABLE),
        crc=info.CRC,
        spliced=Spliced(file=path, offset=offset, size=info.compress_size, crc=info.CRC) if packed else None,
        place=(path, offset),
    )


def _require_shortest(info: zipfile.ZipInfo) -> None:
    """Raise VerificationFailed for a path that installers could interpret in two ways."""
    if relative_path(info.filename) != info.filename.removesuffix("/"):
        raise BadArchive(f"it holds the path {info.filename!r}")


def _invalid(name: str, problem: str) -> VerificationFailed:
    return VerificationFailed(f"{name} cannot be installed: {problem}", hint="choose another version of the package")
