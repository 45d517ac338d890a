"""Extraction of untrusted archives below one directory.

`tarfile` has a filter for this only from Python 3.11.4 on; Debian 12 ships 3.11.2
(https://docs.python.org/3/library/tarfile.html#extraction-filters).
"""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path, PurePosixPath

from envbuilder.core.archives import packed_tar
from envbuilder.core.archives import tar_reader as tar_file
from envbuilder.core.archives.confined_writer import ConfinedWriter
from envbuilder.core.archives.member_names import BadArchive, relative_path
from envbuilder.core.archives.tar_reader import TarEntry, TarReader
from envbuilder.core.archives.zip_reader import opened
from envbuilder.core.files import CHUNK


def extract(archive: Path, target: Path) -> None:
    """Extract a tar, compressed or not, or a zip below a directory.

    Nothing is written outside the directory or through a symbolic link. Refused are absolute names, names and links
    that lead outside, devices and pipes, and archives that exceed `LIMITS`. Owners are not restored. Permissions are
    reduced: only the owner can write, the set-user-ID, set-group-ID and sticky bits are cleared, and files that the
    owner cannot execute are not executable.

    Args:
        archive: The file.
        target: An existing directory.

    Raises:
        BadArchive: The archive is damaged, or a member is refused. The members before that one stay extracted.
        OSError: The archive cannot be read, or the directory cannot be written.
    """
    with ConfinedWriter(target) as below:
        if zipfile.is_zipfile(archive):
            _extract_zip(archive, below)
        else:
            links = _extract_tar(archive, below)
            # A link whose target is inside can lead outside through another link, even one that is extracted later.
            for name in links:
                if not _stays_inside(target / name, target):
                    raise BadArchive(f"the symbolic link {name!r} leads outside")


def _extract_tar(archive: Path, below: ConfinedWriter) -> list[str]:
    """Extract a tar; return the paths of its symbolic links."""
    links = []
    with archive.open("rb") as packed:
        for entry, tar in packed_tar.members(packed, archive.stat().st_size, archive.name):
            _extract_entry(entry, tar, below)
            if entry.flag == tar_file.SYMLINK:
                links.append(entry.path)
    return links


def _extract_entry(entry: TarEntry, tar: TarReader, below: ConfinedWriter) -> None:
    match entry.flag:
        case tar_file.FOLDER:
            below.folder(entry.path)
        case tar_file.FILE:
            with below.file(entry.path, mode=_mode(entry.mode), mtime=entry.mtime) as copy:
                copy.writelines(tar.content())
        case tar_file.SYMLINK:
            below.symlink(entry.path, _checked_target(entry))
        case tar_file.HARD_LINK:
            below.hard_link(entry.path, entry.link_to)
        case _:
            raise BadArchive(f"{entry.path!r} is a device or a pipe")


def _extract_zip(archive: Path, below: ConfinedWriter) -> None:
    with opened(archive) as content:
        for info in content.members:
            if info.is_dir():
                below.folder(relative_path(info.filename))
                continue
            mode = _mode(info.external_attr >> 16 or 0o644)
            with content.archive.open(info) as source, below.file(info.filename, mode=mode) as copy:
                shutil.copyfileobj(source, copy, CHUNK)


def _mode(mode: int) -> int:
    mode = mode & 0o755 | 0o600
    return mode if mode & 0o100 else mode & ~0o111


def _checked_target(entry: TarEntry) -> str:
    to = entry.target
    if to.startswith("/") or os.path.normpath(PurePosixPath(entry.path).parent / to).split("/")[0] == "..":
        raise BadArchive(f"the symbolic link {entry.path!r} leads outside, to {to!r}")
    return to


def _stays_inside(link: Path, target: Path) -> bool:
    # Unlike Path.resolve, realpath does not raise for a loop of links, which is harmless.
    return Path(os.path.realpath(link)).is_relative_to(os.path.realpath(target))
