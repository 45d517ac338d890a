"""Decoder of `libraries.yaml`, the CUDA libraries that fit together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from envbuilder.catalog.archives import ArchiveFacts, ArchiveUse
from envbuilder.catalog.cuda import LibrarySet
from envbuilder.catalog.load.tables import SchemaNumber
from envbuilder.core.field_rules import At, NotEmpty, Sorted, Unique
from envbuilder.core.field_types import LibraryName
from envbuilder.core.mismatches import Mismatch
from envbuilder.core.yaml.documents import read
from envbuilder.core.yaml.structured import structured


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    archive: str
    sonames: Annotated[tuple[LibraryName, ...], NotEmpty(), Sorted()]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    libraries: Annotated[LibrarySet, At()]
    archives: Annotated[tuple[_Use, ...], Unique("archive")] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    schema: SchemaNumber
    libraries: Annotated[tuple[_Entry, ...], NotEmpty(), Unique("id")]


def read_libraries(text: str, file: str, archives: ArchiveFacts) -> tuple[LibrarySet, ...]:
    """Read `libraries.yaml`.

    Args:
        text: The document.
        file: Its path, for the faults.
        archives: The archives that library sets refer to.

    Raises:
        InvalidInput: With every fault of the document.
    """
    known = {archive.id: archive for archive in archives.archives}
    document = structured(_Document, read(text, file), file, check=partial(_problems, facts=archives))
    return tuple(
        replace(
            entry.libraries,
            archives=tuple(ArchiveUse(archive=known[use.archive], sonames=use.sonames) for use in entry.archives),
        )
        for entry in document.libraries
    )


def _problems(document: _Document, facts: ArchiveFacts) -> Iterator[Mismatch]:
    known = {archive.id: archive for archive in facts.archives}
    for index, entry in enumerate(document.libraries):
        taken = [soname for use in entry.archives for soname in use.sonames]
        for number, use in enumerate(entry.archives):
            path = ("libraries", index, "archives", number)
            archive = known.get(use.archive)
            if archive is None:
                yield Mismatch(path=(*path, "archive"), problem=f"{use.archive!r} is not in archives.yaml")
                continue
            for soname in use.sonames:
                if archive.library(soname) is None:
                    yield Mismatch(path=(*path, "sonames"), problem=f"{archive.id} has no {soname}")
                elif taken.count(soname) > 1:
                    yield Mismatch(path=(*path, "sonames"), problem=f"{soname} comes from two archives")
                elif soname not in entry.libraries.sonames:
                    yield Mismatch(path=(*path, "sonames"), problem=f"{soname} is not among the sonames of the set")
