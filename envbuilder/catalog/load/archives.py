"""Decoder of `archives.yaml`, the archives of vendors and their publishers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from envbuilder.catalog.archives import ArchiveFacts, ArchiveFormat, VendorArchive
from envbuilder.catalog.load.tables import SCHEMA, SchemaNumber
from envbuilder.core import structure
from envbuilder.core.conversion.reading import Mismatch, Path
from envbuilder.core.field_rules import At
from envbuilder.core.yaml.canonical import dump
from envbuilder.core.yaml.documents import read
from envbuilder.core.yaml.structured import structured

_OF_THE_DRIVER = re.compile(r"libcuda\.so.*|libnvidia-.*|libnvcuvid\.so.*|libcudadebugger\.so.*")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    schema: SchemaNumber
    facts: Annotated[ArchiveFacts, At()]


def read_archives(text: str, file: str) -> ArchiveFacts:
    """Read `archives.yaml`.

    Raises:
        InvalidInput: With every fault of the document, among them a pin that is known to be wrong and a library of the
            driver, which the container runtime mounts and which may not be copied.
    """
    return structured(_Document, read(text, file), file, check=_problems).facts


def dump_archives(facts: ArchiveFacts) -> str:
    """Return the canonical text of `archives.yaml`, without comments."""
    return dump(structure.dump(_Document(schema=SCHEMA, facts=facts)))


def _problems(document: _Document) -> Iterator[Mismatch]:
    facts = document.facts
    for index, archive in enumerate(facts.archives):
        path: Path = ("archives", index)
        publisher = facts.publisher(archive.publisher)
        if publisher is None:
            yield Mismatch(path=(*path, "publisher"), problem=f"{archive.publisher!r} is not among the publishers")
        elif bool(publisher.address) != bool(archive.path):
            problem = "is missing" if publisher.address else "must be empty: a package index has no paths"
            yield Mismatch(path=(*path, "path"), problem=problem)
        if wrong := facts.wrong_hash(archive.file, archive.sha256):
            yield Mismatch(path=(*path, "sha256"), problem=f"is known to be wrong: it is that of {wrong.really}")
        yield from _format_problems(archive, path)
        yield from _library_problems(archive, path)


def _format_problems(archive: VendorArchive, path: Path) -> Iterator[Mismatch]:
    if bool(archive.inner) != (archive.format is ArchiveFormat.MAKESELF_NESTED):
        yield Mismatch(path=(*path, "inner"), problem="must be given for a nested run file, and only for one")
    if (archive.format is ArchiveFormat.WHEEL) != archive.file.endswith(".whl"):
        yield Mismatch(path=(*path, "file"), problem=f"is not the name of an archive in format {archive.format.value}")


def _library_problems(archive: VendorArchive, path: Path) -> Iterator[Mismatch]:
    sonames = [library.soname for library in archive.libraries]
    if sonames != sorted(sonames):
        yield Mismatch(path=(*path, "libraries"), problem="must be sorted by soname")
    for index, soname in enumerate(sonames):
        if _OF_THE_DRIVER.fullmatch(soname):
            problem = f"{soname} belongs to the driver: the container runtime mounts it, and it must not be copied"
            yield Mismatch(path=(*path, "libraries", index, "soname"), problem=problem)
