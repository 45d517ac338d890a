"""Proof of vendor archives: fetch them, take every library out, and compare it with the catalog."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Protocol

from envbuilder.catalog.archives import ArchiveFacts, ArchivePin, VendorArchive
from envbuilder.catalog.environments import Environment
from envbuilder.catalog.load.tables import dump_archives
from envbuilder.catalog.sources import Source
from envbuilder.core.corrupt_file import Damaged
from envbuilder.core.elf import open_elf, read_shared_object
from envbuilder.core.errors import EnvbuilderError
from envbuilder.curation.environment_files import read_document


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedLibrary:
    """A library that was taken out of an archive.

    Attributes:
        soname: The name under which the catalog has it.
        size: Bytes of its file.
        own_name: Its name according to itself; empty if it is not an ELF file with a name.
    """

    soname: str
    sha256: str
    size: int
    own_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveProof:
    """The result of opening one archive whose sha256 is that of the catalog.

    Attributes:
        libraries: Its libraries, in the order of the catalog.
    """

    archive: VendorArchive
    size: int
    libraries: tuple[OpenedLibrary, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """Differences between the archive and the catalog, in words; empty if there are none."""
        return tuple(self._problems())

    @property
    def new(self) -> tuple[OpenedLibrary, ...]:
        """Libraries whose sha256 the catalog does not have."""
        return tuple(each for each in self.libraries if not self._pinned(each))

    def _problems(self) -> Iterator[str]:
        if self.archive.size and self.archive.size != self.size:
            yield f"{self.archive.file} has {self.size} bytes; the catalog has {self.archive.size}"
        for each in self.libraries:
            pinned = self._pinned(each)
            if each.own_name != each.soname:
                yield f"{each.soname} calls itself {each.own_name or 'nothing: it is not a shared library'}"
            if pinned and pinned != each.sha256:
                yield f"{each.soname} has sha256 {each.sha256}; the catalog has {pinned}"

    def _pinned(self, opened: OpenedLibrary) -> str:
        known = self.archive.library(opened.soname)
        return known.sha256 if known else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unopened:
    """An archive that could not be opened.

    Attributes:
        why: The reason: the license, the publisher, another file under its name, or a missing library.
        hint: What to do; may be empty.
    """

    archive: VendorArchive
    why: str
    hint: str


class OpenArchives(Protocol):
    """Archives on this machine."""

    def fetch(self, pin: ArchivePin) -> int:
        """Make sure that an archive is here, with the sha256 of its pin; return its bytes.

        Raises:
            LicenseNotAccepted: A license has to be accepted first.
            SourceUnreachable: The publisher does not deliver it.
            VerificationFailed: The file has another sha256.
        """
        ...

    def take(self, pin: ArchivePin) -> Mapping[str, str]:
        """Take the libraries of a pin out of its archive; return the sha256 of each, by the path in the pin.

        Raises:
            VerificationFailed: The archive lacks a library.
        """
        ...

    def open(self, sha256: str) -> BinaryIO:
        """Open a file that was taken."""
        ...


def archives_of(rows: tuple[Environment, ...]) -> tuple[VendorArchive, ...]:
    """Return the archives that environments take libraries from, each once, sorted by id."""
    found = {
        use.archive.id: use.archive
        for row in rows
        for choice in row.bases
        if choice.libraries is not None
        for use in choice.libraries.archives
    }
    return tuple(archive for _, archive in sorted(found.items()))


def prove_archive(archive: VendorArchive, here: OpenArchives) -> ArchiveProof | Unopened:
    """Fetch an archive, and read all libraries that the catalog names in it."""
    pin = _unpinned(archive)
    try:
        size = here.fetch(pin)
        taken = here.take(pin)
    except EnvbuilderError as error:
        return Unopened(archive=archive, why=error.message, hint=error.hint)
    libraries = tuple(_opened(library.soname, taken[library.path], here) for library in archive.libraries)
    return ArchiveProof(archive=archive, size=size, libraries=libraries)


def recorded(facts: ArchiveFacts, proof: ArchiveProof, *, source: str) -> ArchiveFacts:
    """Return the archives of the catalog with the size of one archive and the sha256 of each of its libraries.

    `proof` has no problems; `source` says what was done and when.
    """
    hashes = {each.soname: each.sha256 for each in proof.libraries}
    archive = proof.archive
    known = replace(
        archive,
        size=proof.size,
        libraries=tuple(replace(each, sha256=hashes[each.soname]) for each in archive.libraries),
        sources=(*archive.sources, Source(text=source)),
    )
    archives = tuple(known if each.id == archive.id else each for each in facts.archives)
    return replace(facts, archives=archives)


def archives_text(facts: ArchiveFacts, path: Path) -> str:
    """Return the text of `archives.yaml` under the comments that the file has."""
    comments, _ = read_document(path)
    return comments + dump_archives(facts)


def _unpinned(archive: VendorArchive) -> ArchivePin:
    """Return the pin of an archive without the hashes of its libraries, so that it has to be opened itself."""
    pin = archive.pin(each.soname for each in archive.libraries)
    return replace(pin, libraries=tuple(replace(each, sha256="") for each in pin.libraries))


def _opened(soname: str, sha256: str, here: OpenArchives) -> OpenedLibrary:
    with here.open(sha256) as stream:
        size = stream.seek(0, 2)
        stream.seek(0)
        try:
            own_name = read_shared_object(open_elf(stream)).soname
        except Damaged:
            own_name = ""
    return OpenedLibrary(soname=soname, sha256=sha256, size=size, own_name=own_name)
