"""Open a .deb: what it installs, and what it says about itself. Nothing of it is run."""

from __future__ import annotations

import gzip
import io
import lzma
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, cast

from envbuilder.errors import VerificationFailed
from envbuilder.files import CHUNK
from envbuilder.tar.members import Member, of_tar

_MAGIC = b"!<arch>\n"
_HEAD = 60
_BROKEN = (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, ValueError, KeyError, gzip.BadGzipFile)


@dataclass(frozen=True, slots=True, kw_only=True)
class DebFile:
    """An opened .deb.

    Attributes:
        members: What it installs, in its order; contents are read later, from an unpacked file in the work folder.
        control: Files about it by name: `control`, `md5sums`, `conffiles`, scripts.
    """

    members: tuple[Member, ...]
    control: dict[str, bytes]

    @property
    def fields(self) -> str:
        """Its paragraph, without a final line end."""
        return self.control["control"].decode("utf-8", "replace").strip("\n")


def open_deb(path: Path, name: str, work: Path) -> DebFile:
    """Read a .deb.

    Args:
        path: The file; its content was compared with its hash.
        name: Its name, for errors.
        work: Folder for what it unpacks to, which must stay as long as members are read.

    Raises:
        VerificationFailed: It is no .deb, damaged, or packed in a way that Debian does not use.
    """
    try:
        with path.open("rb") as stream:
            parts = dict(_parts(stream))
            control = _control(*_part(parts, "control.tar"))
            unpacked = work / f"{path.parent.name}{path.name}.tar"
            with _opened(*_part(parts, "data.tar")) as data, unpacked.open("wb") as copy:
                shutil.copyfileobj(data, copy, CHUNK)
        return DebFile(members=of_tar(unpacked), control=control)
    except _BROKEN as error:
        raise VerificationFailed(
            f"{name} cannot be unpacked: {error}", hint="the mirror gives a broken file: --debian-mirror URL"
        ) from error


def _parts(stream: BinaryIO) -> Iterator[tuple[str, tuple[BinaryIO, int, int]]]:
    """Name, and where it lies, of each part of the archive."""
    if stream.read(len(_MAGIC)) != _MAGIC:
        raise ValueError("this is no .deb")
    while len(head := stream.read(_HEAD)) == _HEAD:
        name, size = head[:16].decode("ascii").strip().rstrip("/"), int(head[48:58])
        start = stream.tell()
        yield name, (stream, start, size)
        stream.seek(start + size + size % 2)


def _part(parts: dict[str, tuple[BinaryIO, int, int]], kind: str) -> tuple[str, BinaryIO, int, int]:
    for name, place in parts.items():
        if name.startswith(kind):
            return (name, *place)
    raise ValueError(f"it has no {kind}")


def _control(name: str, stream: BinaryIO, start: int, size: int) -> dict[str, bytes]:
    found = {}
    with _opened(name, stream, start, size) as unpacked, tarfile.open(fileobj=io.BytesIO(unpacked.read())) as archive:
        for info in archive:
            content = archive.extractfile(info)
            if content is not None:
                found[info.name.removeprefix("./")] = content.read()
    if "control" not in found:
        raise ValueError("it does not say what it is")
    return found


@contextmanager
def _opened(name: str, stream: BinaryIO, start: int, size: int) -> Iterator[IO[bytes]]:
    window = cast("BinaryIO", io.BufferedReader(_Window(stream, start, size)))
    match name.rpartition(".")[2]:
        case "xz":
            with lzma.open(window) as unpacked:
                yield cast("IO[bytes]", unpacked)
        case "gz":
            with gzip.open(window) as unpacked:
                yield cast("IO[bytes]", unpacked)
        case "tar":
            yield window
        case other:
            raise ValueError(f"it is packed with {other}, which Debian does not use")


class _Window(io.RawIOBase):
    """A part of a file as a file."""

    def __init__(self, stream: BinaryIO, start: int, size: int) -> None:
        super().__init__()
        self._stream = stream
        self._at = start
        self._end = start + size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self._stream.seek(self._at)
        data = self._stream.read(min(len(buffer), self._end - self._at))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
