"""Reader of .deb files: their files and their metadata. No script is run."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from envbuilder.core.archives.ar_reader import ArPart, opened_part, parts
from envbuilder.core.archives.decompression import unpacked
from envbuilder.core.archives.limits import ArchiveLimits, Budget
from envbuilder.core.archives.member_names import BadArchive
from envbuilder.core.archives.tar_reader import FILE, PlainStream, TarReader
from envbuilder.core.errors import VerificationFailed
from envbuilder.core.files import CHUNK
from envbuilder.oci.tar.members import Member, of_tar

_CONTROL = ArchiveLimits(member=16 << 20, total=64 << 20, members=1000)
"""Limits for the control files of a package; of 425 packages of Debian 12 none had more than 430 kB (2026-11-22)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebFile:
    """An opened .deb.

    Attributes:
        members: The files that it installs, in order; their contents are read later, from the work directory.
        control: Control files by name: `control`, `md5sums`, `conffiles`, scripts.
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
        work: Directory for what it unpacks to, which must stay as long as members are read.

    Raises:
        VerificationFailed: It is not a .deb, is damaged, or is packed in a way that these distributions do not use.
    """
    try:
        budget = Budget(path.stat().st_size)
        with path.open("rb") as stream:
            found = parts(stream)
            _require_format(stream, found)
            control = _control(stream, _part(found, "control.tar"))
            plain = work / f"{path.parent.name}{path.name}.tar"
            with _opened(stream, _part(found, "data.tar"), budget) as data, plain.open("wb") as copy:
                shutil.copyfileobj(data, copy, CHUNK)
        return DebFile(members=of_tar(plain, "data.tar"), control=control)
    except BadArchive as error:
        raise VerificationFailed(
            f"{name} cannot be unpacked: {error}",
            hint="lock again with another mirror: --debian-mirror URL, or --ubuntu-mirror URL",
        ) from error


def _require_format(stream: BinaryIO, found: Mapping[str, ArPart]) -> None:
    """Raise BadArchive unless the first part states format 2 of .deb files.

    Source: deb(5), https://manpages.debian.org/bookworm/dpkg-dev/deb.5.en.html
    """
    first = next(iter(found.values()), None)
    if first is None or first.name != "debian-binary" or not opened_part(stream, first).read(2) == b"2.":
        raise BadArchive("it is not a .deb of format 2")


def _part(found: Mapping[str, ArPart], kind: str) -> ArPart:
    parts_of_kind = [part for name, part in found.items() if name.partition(".tar")[0] + ".tar" == kind]
    if len(parts_of_kind) != 1:
        raise BadArchive(f"it has {len(parts_of_kind)} parts {kind} instead of one")
    return parts_of_kind[0]


def _control(stream: BinaryIO, part: ArPart) -> dict[str, bytes]:
    found = {}
    budget = Budget(part.size, _CONTROL)
    with _opened(stream, part, budget) as plain:
        tar = TarReader(PlainStream(plain), part.name, budget)
        for entry in tar.entries():
            if entry.flag == FILE:
                found[entry.path] = b"".join(tar.content())
    if "control" not in found:
        raise BadArchive("its control file lacks Package or Version")
    return found


def _opened(stream: BinaryIO, part: ArPart, budget: Budget) -> AbstractContextManager[BinaryIO]:
    ending = part.name.rpartition(".")[2]
    if ending not in {"xz", "gz", "tar"}:
        raise BadArchive(f"it is packed with {ending}, which is not supported")
    return unpacked(opened_part(stream, part), "" if ending == "tar" else ending, budget)
