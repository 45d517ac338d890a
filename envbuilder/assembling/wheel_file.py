"""Open a wheel and see what lies in it and where, without unpacking it."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from envbuilder.assembling.entries import Spliced
from envbuilder.assembling.inflating import inflated
from envbuilder.errors import VerificationFailed
from envbuilder.tar.members import opened_at

_LOCAL_HEADER = struct.Struct("<4s22xHH")
_ENCRYPTED = 0x1
_EXECUTABLE = 0o111
_LARGEST_TEXT = 64 << 20
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, struct.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """One file in a wheel.

    Attributes:
        size: Its bytes, unpacked.
        executable: Whether the zip gives it an x.
        spliced: Where it lies as a deflate stream; None when it is not packed.
        place: Where it lies when it is not packed: file and offset.
    """

    size: int
    executable: bool
    spliced: Spliced | None
    place: tuple[Path, int]

    def open(self) -> BinaryIO:
        """A stream whose next `size` bytes are the file."""
        if self.spliced:
            return BytesIO(self.read())
        return opened_at(*self.place)

    def read(self) -> bytes:
        """The whole file.

        Raises:
            VerificationFailed: It is damaged, or larger than anything that has to be read as a whole.
        """
        if self.size > _LARGEST_TEXT:
            raise VerificationFailed(f"{self.place[0].name} has a text of {self.size} bytes")
        if self.spliced:
            return inflated(self.spliced, self.size)
        with opened_at(*self.place) as stream:
            return stream.read(self.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """An opened wheel.

    Attributes:
        name: Its file name.
        contents: Every file by its path in the wheel, in the order of its directory.
        folders: Folders that the wheel lists, without a final slash.
    """

    name: str
    contents: dict[str, Content]
    folders: tuple[str, ...]

    @property
    def dist_info(self) -> str:
        """Its folder `NAME-VERSION.dist-info`.

        Raises:
            VerificationFailed: There is none, or more than one.
        """
        found = {path.partition("/")[0] for path in self.contents if path.partition("/")[0].endswith(".dist-info")}
        if len(found) != 1:
            raise _invalid(self.name, f"it has {len(found)} folders *.dist-info instead of one")
        return found.pop()

    def text(self, path: str) -> str:
        """A file as text; empty when there is none.

        Raises:
            VerificationFailed: It is not UTF-8, or damaged.
        """
        content = self.contents.get(path)
        if content is None:
            return ""
        try:
            return content.read().decode("utf-8")
        except UnicodeDecodeError as error:
            raise _invalid(self.name, f"{path} is not UTF-8") from error


def open_wheel(path: Path, name: str) -> Wheel:
    """Read the directory of a wheel.

    Args:
        path: The file; its content was compared with its hash.
        name: Its name on the index.

    Raises:
        VerificationFailed: It is no wheel, or one that must not be installed: encrypted, or with paths that lead out of
            the environment, or with the same path twice.
    """
    contents: dict[str, Content] = {}
    folders = []
    with _damage(name), path.open("rb") as stream, zipfile.ZipFile(stream) as archive:
        for info in archive.infolist():
            _require_inside(name, info.filename)
            if info.is_dir():
                folders.append(info.filename.rstrip("/"))
                continue
            if info.filename in contents:
                raise _invalid(name, f"{info.filename} is in it twice")
            contents[info.filename] = _content(name, path, stream, info)
    return Wheel(name=name, contents=contents, folders=tuple(folders))


def _content(name: str, path: Path, stream: BinaryIO, info: zipfile.ZipInfo) -> Content:
    if info.flag_bits & _ENCRYPTED:
        raise _invalid(name, f"{info.filename} is encrypted")
    # The names in front of the content may differ from those of the directory, in their extra fields at least.
    stream.seek(info.header_offset)
    signature, name_size, extra_size = _LOCAL_HEADER.unpack(stream.read(30))
    if signature != b"PK\x03\x04":
        raise _invalid(name, f"{info.filename} is not where the directory says")
    offset = info.header_offset + 30 + name_size + extra_size
    executable = bool(info.external_attr >> 16 & _EXECUTABLE)
    spliced = None
    if info.compress_type == zipfile.ZIP_DEFLATED:
        spliced = Spliced(file=path, offset=offset, size=info.compress_size, crc=info.CRC)
    elif info.compress_type != zipfile.ZIP_STORED:
        raise _invalid(name, f"{info.filename} is packed by method {info.compress_type}, which wheels do not use")
    return Content(size=info.file_size, executable=executable, spliced=spliced, place=(path, offset))


def _require_inside(name: str, path: str) -> None:
    parts = path.rstrip("/").split("/")
    if path.startswith("/") or "\\" in path or any(part in {"", ".", ".."} for part in parts) or "\0" in path:
        raise _invalid(name, f"it holds the path {path!r}")


@contextmanager
def _damage(name: str) -> Iterator[None]:
    try:
        yield
    except _BROKEN as error:
        raise _invalid(name, f"it cannot be read: {error or type(error).__name__}") from error


def _invalid(name: str, problem: str) -> VerificationFailed:
    return VerificationFailed(f"{name} cannot be installed: {problem}", hint="choose another version of it")
