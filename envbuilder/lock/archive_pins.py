"""Pins of vendor archives and of the libraries that an image takes out of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from envbuilder.catalog.archives import ArchivedLibrary, ArchiveFormat, VendorArchive
from envbuilder.core.field_rules import NotEmpty, Unique
from envbuilder.core.field_types import (
    FileName,
    FileSize,
    OptionalArchiveMember,
    RowId,
    Sha256,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivePin:
    """One archive of a vendor.

    Attributes:
        id: Id of the archive in the catalog.
        format: Its format.
        publisher: Id of the publisher; addresses are never in a lock.
        path: Path below the publisher's address; empty for a file of the package index.
        file: Name of the file.
        sha256: Of the file.
        size: Bytes of the file; 0 if unknown.
        inner: Member that holds the toolkit, for a nested run file; else empty.
        eula: Member with the text of the licence; empty if only the publisher's page has it.
        libraries: Libraries that the image takes out of it, sorted by soname.
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


def archive_pin(archive: VendorArchive, sonames: Iterable[str]) -> ArchivePin:
    """Return the pin of an archive with some of its libraries."""
    wanted = frozenset(sonames)
    return ArchivePin(
        id=archive.id,
        format=archive.format,
        publisher=archive.publisher,
        path=archive.path,
        file=archive.file,
        sha256=archive.sha256,
        size=archive.size,
        inner=archive.inner,
        eula=archive.eula,
        libraries=tuple(library for library in archive.libraries if library.soname in wanted),
    )
