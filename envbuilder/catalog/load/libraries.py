"""Decoder of `libraries.yaml`, the CUDA libraries that fit together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from envbuilder.catalog.archives import ArchiveFacts
from envbuilder.catalog.cuda import LibrarySet
from envbuilder.catalog.load.tables import SchemaNumber
from envbuilder.core.conversion.reading import Mismatch
from envbuilder.core.field_rules import NotEmpty, Unique
from envbuilder.core.yaml.documents import read
from envbuilder.core.yaml.structured import structured


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    schema: SchemaNumber
    libraries: Annotated[tuple[LibrarySet, ...], NotEmpty(), Unique("id")]


def read_libraries(text: str, file: str, archives: ArchiveFacts) -> tuple[LibrarySet, ...]:
    """Read `libraries.yaml`.

    Args:
        text: The document.
        file: Its path, for the faults.
        archives: The archives that library sets refer to.

    Raises:
        InvalidInput: With every fault of the document.
    """
    tables = {"archives": {archive.id: archive for archive in archives.archives}}
    return structured(_Document, read(text, file), file, tables=tables, check=_problems).libraries


def _problems(document: _Document) -> Iterator[Mismatch]:
    for index, entry in enumerate(document.libraries):
        taken = [soname for use in entry.archives for soname in use.sonames]
        for number, use in enumerate(entry.archives):
            path = ("libraries", index, "archives", number)
            for soname in use.sonames:
                if use.archive.library(soname) is None:
                    yield Mismatch(path=(*path, "sonames"), problem=f"{use.archive.id} has no {soname}")
                elif taken.count(soname) > 1:
                    yield Mismatch(path=(*path, "sonames"), problem=f"{soname} comes from two archives")
                elif soname not in entry.sonames:
                    yield Mismatch(path=(*path, "sonames"), problem=f"{soname} is not among the sonames of the set")
