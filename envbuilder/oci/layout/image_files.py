"""Access to the files of an image in a directory or tar by name."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from envbuilder.core.archives.member_names import BadArchive
from envbuilder.core.archives.tar_reader import FILE, SYMLINK, FileStream, TarReader
from envbuilder.core.errors import UsageError
from envbuilder.oci.tar.members import Section

_LINKS = 8


class ImageFiles(Protocol):
    """Files of an image, by name."""

    def has(self, name: str) -> bool:
        """Return True if there is a file with this name."""
        ...

    def open(self, name: str) -> BinaryIO:
        """Open the file with this name, which must exist."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """Files of a directory; names that lead out of it do not exist."""

    path: Path

    def has(self, name: str) -> bool:
        """See `ImageFiles.has`."""
        outside = name.startswith("/") or ".." in name.split("/")
        return not outside and (self.path / name).is_file()

    def open(self, name: str) -> BinaryIO:
        """See `ImageFiles.open`."""
        return (self.path / name).open("rb")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tar:
    """Files of an uncompressed tar.

    Attributes:
        files: Offset and size of each.
    """

    path: Path
    files: Mapping[str, tuple[int, int]]

    def has(self, name: str) -> bool:
        """See `ImageFiles.has`."""
        return name in self.files

    def open(self, name: str) -> BinaryIO:
        """See `ImageFiles.open`."""
        offset, size = self.files[name]
        return cast("BinaryIO", io.BufferedReader(Section(self.path, offset, size)))


def image_files(path: Path) -> ImageFiles:
    """Return the files of a directory or tar.

    Raises:
        UsageError: It is neither a directory nor an uncompressed tar.
    """
    if path.is_dir():
        return Folder(path=path)
    if not path.is_file():
        raise UsageError(f"no image found at {path}")
    try:
        with path.open("rb") as stream:
            return Tar(path=path, files=_files(TarReader(FileStream(stream, path.stat().st_size), path.name)))
    except BadArchive as error:
        raise UsageError(
            f"{path} is neither a directory nor a tar archive: {error}", hint="decompress the archive first"
        ) from error


def _files(archive: TarReader) -> dict[str, tuple[int, int]]:
    """Return the position of each file; older engines write a layer once and links to it, in either order."""
    files, links = dict[str, tuple[int, int]](), dict[str, str]()
    for entry in archive.entries():
        if entry.flag == FILE:
            files[entry.path] = (entry.offset, entry.size)
        elif entry.flag == SYMLINK:
            links[entry.path] = _joined(entry.path, entry.target)
        elif entry.link_to:
            links[entry.path] = entry.link_to
    for name, target in links.items():
        for _ in range(_LINKS):
            target = links.get(target, target)  # noqa: PLW2901  follows the link
        if target in files:
            files.setdefault(name, files[target])
    return files


def _joined(name: str, target: str) -> str:
    parts = name.split("/")[:-1]
    for part in target.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)
