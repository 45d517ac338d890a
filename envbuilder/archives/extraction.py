"""Extract untrusted archives below one directory.

`tarfile` has a filter for this only from Python 3.11.4 on; Debian 12 ships 3.11.2
(https://docs.python.org/3/library/tarfile.html#extraction-filters).
"""

from __future__ import annotations

import lzma
import os
import shutil
import tarfile
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import IO

from envbuilder.files import CHUNK

# tarfile and zipfile let errors of their parts through: those of decompressors, and of parsing a number or a name.
_DAMAGED = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, KeyError, IndexError, OverflowError,
    NotImplementedError, RuntimeError,
)  # fmt: skip


class BadArchive(ValueError):
    """The archive is damaged, or has a member that must not be extracted."""


def extract(archive: Path, target: Path) -> None:
    """Extract a tar, compressed or not, or a zip below a directory.

    Nothing is written outside the directory or through a symbolic link. Refused are absolute names, names and links
    that lead outside, devices and pipes. Owners are not restored. Permissions are reduced: only the owner can write,
    the set-user-ID, set-group-ID and sticky bits are cleared, and nobody can execute what the owner cannot.

    Args:
        archive: The file.
        target: An existing directory.

    Raises:
        BadArchive: The archive is damaged, or a member is refused. The members before that one stay extracted.
        OSError: The archive cannot be read, or the directory cannot be written.
    """
    try:
        if zipfile.is_zipfile(archive):
            _extract_zip(archive, target)
        else:
            _extract_tar(archive, target)
    except BadArchive:
        raise
    except (*_DAMAGED, ValueError) as error:
        raise BadArchive(str(error) or type(error).__name__) from error
    except OSError as error:
        # gzip and bz2 report damage as an OSError without a number.
        if error.errno is None:
            raise BadArchive(str(error)) from error
        raise


def _extract_tar(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as content:
        for info in content:
            _extract_member(content, info, target)
        links = [info.name for info in content if info.issym()]
    # A link that stays inside by its text can leave through another link, even one that is extracted after it.
    for name in links:
        if not _stays_inside(target / name, target):
            raise BadArchive(f"the symbolic link {name!r} leads outside")


def _extract_member(content: tarfile.TarFile, info: tarfile.TarInfo, target: Path) -> None:
    if info.isdir():
        _directory(info.name, _parts(info.name), target)
        return
    place = _place(info.name, target)
    if info.isreg() and (source := content.extractfile(info)):
        _write(source, place, info.mode)
        # A time that the file system cannot hold is left out.
        with suppress(OverflowError, OSError):
            os.utime(place, (info.mtime, info.mtime))
    elif info.issym():
        place.symlink_to(_checked_target(info))
    elif info.islnk():
        place.hardlink_to(_extracted(info.linkname, target))
    else:
        raise BadArchive(f"{info.name!r} is a device or a pipe")


def _extract_zip(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as content:
        for info in content.infolist():
            if info.is_dir():
                _directory(info.filename, _parts(info.filename), target)
                continue
            place = _place(info.filename, target)
            with content.open(info) as source:
                _write(source, place, info.external_attr >> 16 or 0o644)


def _place(name: str, target: Path) -> Path:
    """Make room for a member that is not a directory.

    Returns:
        A path at which nothing exists, below directories that exist.
    """
    parts = _parts(name)
    if not parts:
        raise BadArchive(f"{name!r} is not a directory")
    place = _directory(name, parts[:-1], target) / parts[-1]
    if place.is_dir() and not place.is_symlink():
        raise BadArchive(f"{name!r} is both a directory and something else")
    place.unlink(missing_ok=True)
    return place


def _directory(name: str, parts: tuple[str, ...], target: Path) -> Path:
    """Make the directories of a member; none of them may be a symbolic link."""
    place = target
    for part in parts:
        place /= part
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise BadArchive(f"{name!r} is below {part!r}, which is not a directory")
        place.mkdir(exist_ok=True)
    return place


def _parts(name: str) -> tuple[str, ...]:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise BadArchive(f"{name!r} leads outside")
    return path.parts


def _write(source: IO[bytes], place: Path, mode: int) -> None:
    with place.open("xb") as copy:
        shutil.copyfileobj(source, copy, CHUNK)
    mode = mode & 0o755 | 0o600
    place.chmod(mode if mode & 0o100 else mode & ~0o111)


def _checked_target(info: tarfile.TarInfo) -> str:
    to = info.linkname
    if not to or to.startswith("/") or os.path.normpath(PurePosixPath(info.name).parent / to).split("/")[0] == "..":
        raise BadArchive(f"the symbolic link {info.name!r} leads outside, to {to!r}")
    return to


def _extracted(name: str, target: Path) -> Path:
    """Return a file that was extracted before: a hard link to anything else could reach a file of this machine."""
    parts = _parts(name)
    places = [target.joinpath(*parts[: depth + 1]) for depth in range(len(parts))]
    if not places or any(place.is_symlink() for place in places) or not places[-1].is_file():
        raise BadArchive(f"hard link to {name!r}, which is not a file of the archive")
    return places[-1]


def _stays_inside(link: Path, target: Path) -> bool:
    # Unlike Path.resolve, realpath takes a loop of links as it is; one leads nowhere.
    return Path(os.path.realpath(link)).is_relative_to(os.path.realpath(target))
