"""Archives of vendors that hold CUDA libraries, and the publishers that serve them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Annotated

from envbuilder.catalog.sources import SourceList
from envbuilder.core.field_rules import Named, NotEmpty, Sorted, Unique
from envbuilder.core.field_types import (
    ArchiveMember,
    FileName,
    FileSize,
    HttpsAddress,
    LibraryName,
    OptionalArchiveMember,
    OptionalSha256,
    RowId,
    Sha256,
    within,
)


class ArchiveFormat(StrEnum):
    """Format of an archive.

    `makeself` is a run file with the libraries in its tar archive (CUDA 10.1 and later); in `makeself-nested`, that of
    CUDA 8.0 to 10.0, the toolkit is a run file inside the run file. `wheel` is a file of the package index that carries
    unmodified libraries.
    """

    MAKESELF = "makeself"
    MAKESELF_NESTED = "makeself-nested"
    TAR_GZIP = "tar-gzip"
    TAR_XZ = "tar-xz"
    WHEEL = "wheel"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedLibrary:
    """One library in an archive.

    Attributes:
        soname: The name that programs open, such as `libcublas.so.9.0`.
        path: Member of the archive, or of the run file inside: the library's file or a link to it.
        sha256: Of the library's file; empty until an archive was opened.
    """

    soname: LibraryName
    path: ArchiveMember
    sha256: OptionalSha256 = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivePin:
    """An archive of a vendor, as a lock names it.

    Attributes:
        id: Stable name, such as `cuda-9.0.176-runfile`.
        format: Its format.
        publisher: Id of the publisher; addresses are never in a lock.
        path: Path below the publisher's address; empty for a file of the package index.
        file: Name of the file.
        sha256: Of the file.
        size: Bytes of the file; 0 if unknown.
        inner: Member that holds the toolkit, for a nested run file; else empty.
        eula: Member with the text of the licence; empty if only the publisher's page has it.
        libraries: Sorted by soname; in the catalog those of the archive, in a lock those that the image takes out.
    """

    id: RowId
    format: ArchiveFormat
    publisher: RowId
    path: OptionalArchiveMember = ""
    file: FileName
    sha256: Sha256
    size: FileSize = 0
    inner: OptionalArchiveMember = ""
    eula: OptionalArchiveMember = ""
    libraries: Annotated[tuple[ArchivedLibrary, ...], NotEmpty(), Unique("soname")]

    @property
    def inner_problem(self) -> str:
        """Problem of `inner`, in words; empty if it fits the format."""
        fits = bool(self.inner) == (self.format is ArchiveFormat.MAKESELF_NESTED)
        return "" if fits else "must be given for a nested run file, and only for one"


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorArchive(ArchivePin):
    """An archive that its vendor publishes under a stable path, with the sources of its pin.

    Attributes:
        agreeing: Number of independent sources of the sha256.
        sources: Where the sha256 was read.
    """

    agreeing: Annotated[int, within(1, 99)]
    sources: SourceList

    @property
    def names(self) -> tuple[str, ...]:
        """Relative paths of the file in a directory that stands for its publisher."""
        return (self.file, self.path) if self.path else (self.file,)

    @property
    def is_unconfirmed(self) -> bool:
        """True if the sha256 has one source only, and the archive was never opened to measure its libraries."""
        return self.agreeing == 1 and not all(library.sha256 for library in self.libraries)

    def pin(self, sonames: Iterable[str]) -> ArchivePin:
        """Return the pin of the archive with some of its libraries."""
        chosen = frozenset(sonames)
        pinned = {field.name: getattr(self, field.name) for field in fields(ArchivePin)}
        libraries = tuple(library for library in self.libraries if library.soname in chosen)
        return ArchivePin(**{**pinned, "libraries": libraries})

    def library(self, soname: str) -> ArchivedLibrary | None:
        """Return the library with this soname; None if the archive has none."""
        return next((library for library in self.libraries if library.soname == soname), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publisher:
    """A publisher of archives.

    Attributes:
        id: The word that locks and `sources.publishers` use.
        title: Its name, for messages.
        address: Base URL of its files; empty for the package index, whose address is uv's configuration.
        eula: URL of the licence that has to be accepted before a download; empty if none is.
    """

    id: RowId
    title: str
    address: HttpsAddress = ""
    eula: HttpsAddress = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongHash:
    """A published sha256 that does not belong to the file that it is stated for.

    Attributes:
        sha256: The wrong sha256.
        really: What has this sha256.
    """

    file: FileName
    sha256: Sha256
    really: str
    sources: SourceList


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveFacts:
    """Known archives and their publishers.

    Attributes:
        known_wrong: Hashes that were published for the wrong file.
    """

    publishers: Annotated[tuple[Publisher, ...], Unique("id")] = ()
    archives: Annotated[tuple[VendorArchive, ...], Unique("id")] = ()
    known_wrong: Annotated[tuple[WrongHash, ...], Unique("file", "sha256")] = ()

    def publisher(self, name: str) -> Publisher | None:
        """Return a publisher by its id; None if it is unknown."""
        return next((publisher for publisher in self.publishers if publisher.id == name), None)

    def wrong_hash(self, file: str, sha256: str) -> WrongHash | None:
        """Return the entry if this sha256 is known to be published for this file by mistake; else None."""
        return next((wrong for wrong in self.known_wrong if (wrong.file, wrong.sha256) == (file, sha256)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveUse:
    """Libraries that a library set takes out of one archive.

    Attributes:
        sonames: The libraries, sorted.
    """

    archive: Annotated[VendorArchive, Named("archives")]
    sonames: Annotated[tuple[LibraryName, ...], NotEmpty(), Sorted()]


def single_source(archive: VendorArchive) -> str:
    """Return the statement about an archive whose sha256 was read in one place only."""
    return f"the sha256 of {archive.id} has one source only: {archive.sources[0].text}"
