"""Decoders of the matrices that environments share: CUDA, libraries, archives, bases, advisories, Keras and more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from envbuilder.catalog.archives import ArchiveFacts, ArchiveFormat, VendorArchive
from envbuilder.catalog.cuda import CudaFacts, LibrarySet
from envbuilder.catalog.environments import BaseSystem
from envbuilder.catalog.gpus import VendorBuild
from envbuilder.catalog.keras import KerasFacts, KerasRule
from envbuilder.catalog.profiles import Profile
from envbuilder.catalog.releases import PublishedRelease
from envbuilder.catalog.sources import Advisory, SourceList
from envbuilder.core import structure
from envbuilder.core.conversion.reading import Mismatch, Path
from envbuilder.core.field_rules import At, NotEmpty, Unique
from envbuilder.core.field_types import WheelVersion, exactly
from envbuilder.core.yaml.canonical import dump
from envbuilder.core.yaml.documents import read
from envbuilder.core.yaml.structured import structured

SCHEMA = 1
SchemaNumber: TypeAlias = Annotated[int, exactly(SCHEMA)]
"""The field `schema` of every matrix."""

_OF_THE_DRIVER = re.compile(r"libcuda\.so.*|libnvidia-.*|libnvcuvid\.so.*|libcudadebugger\.so.*")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cuda:
    schema: SchemaNumber
    facts: Annotated[CudaFacts, At()]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bases:
    schema: SchemaNumber
    bases: Annotated[tuple[BaseSystem, ...], NotEmpty(), Unique("id")]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Advisories:
    schema: SchemaNumber
    advisories: Annotated[tuple[Advisory, ...], NotEmpty(), Unique("id")]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keras:
    schema: SchemaNumber
    releases: Annotated[tuple[WheelVersion, ...], NotEmpty()]
    rules: Annotated[tuple[KerasRule, ...], NotEmpty()]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Releases:
    schema: SchemaNumber
    sources: SourceList
    releases: Annotated[tuple[PublishedRelease, ...], NotEmpty(), Unique("release")]


@dataclass(frozen=True, slots=True, kw_only=True)
class _VendorBuilds:
    schema: SchemaNumber
    builds: Annotated[tuple[VendorBuild, ...], NotEmpty()]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Profiles:
    schema: SchemaNumber
    profiles: Annotated[tuple[Profile, ...], NotEmpty(), Unique("id")]


def read_cuda(text: str, file: str) -> CudaFacts:
    """Read `cuda.yaml`: drivers by CUDA release and family, GPUs by compute capability, PTX versions, cuDNN's GPUs."""
    return structured(_Cuda, read(text, file), file, check=_ascending).facts


def _ascending(document: _Cuda) -> Iterator[Mismatch]:
    facts = document.facts
    columns = {
        "releases": [release.version for release in facts.releases],
        "ptx": [entry.isa for entry in facts.ptx],
        "cudnn": [entry.cudnn for entry in facts.cudnn],
    }
    for name, versions in columns.items():
        if versions != sorted(versions):
            yield Mismatch(path=(name,), problem="must be in ascending order")


def read_bases(text: str, file: str) -> tuple[BaseSystem, ...]:
    """Read `bases.yaml`: operating systems that an image can start from."""
    return structured(_Bases, read(text, file), file).bases


def read_advisories(text: str, file: str) -> tuple[Advisory, ...]:
    """Read `advisories.yaml`: the known traps."""
    return structured(_Advisories, read(text, file), file).advisories


def read_keras(text: str, file: str) -> KerasFacts:
    """Read `keras.yaml`: the releases of Keras, and what was seen of them with TensorFlow."""
    document = structured(_Keras, read(text, file), file, check=_keras_problems)
    return KerasFacts(releases=document.releases, rules=document.rules)


def _keras_problems(document: _Keras) -> Iterator[Mismatch]:
    if list(document.releases) != sorted(set(document.releases)):
        yield Mismatch(path=("releases",), problem="must be in ascending order, each once")
    for index, rule in enumerate(document.rules):
        if not any(release in rule.keras for release in document.releases):
            yield Mismatch(path=("rules", index, "keras"), problem="is about none of the releases above")


def read_releases(text: str, file: str) -> tuple[PublishedRelease, ...]:
    """Read `releases.yaml`: when the minor releases of TensorFlow were published."""
    return structured(_Releases, read(text, file), file).releases


def read_vendor_builds(text: str, file: str) -> tuple[VendorBuild, ...]:
    """Read `vendor-builds.yaml`: NVIDIA's own containers with TensorFlow."""
    return structured(_VendorBuilds, read(text, file), file).builds


def read_profiles(text: str, file: str) -> tuple[Profile, ...]:
    """Read `profiles.yaml`: tools that a spec adds to an environment."""
    return structured(_Profiles, read(text, file), file).profiles


@dataclass(frozen=True, slots=True, kw_only=True)
class _Archives:
    schema: SchemaNumber
    facts: Annotated[ArchiveFacts, At()]


def read_archives(text: str, file: str) -> ArchiveFacts:
    """Read `archives.yaml`.

    Raises:
        InvalidInput: With every fault of the document, among them a pin that is known to be wrong and a library of the
            driver, which the container runtime mounts and which may not be copied.
    """
    return structured(_Archives, read(text, file), file, check=_archive_problems).facts


def dump_archives(facts: ArchiveFacts) -> str:
    """Return the canonical text of `archives.yaml`, without comments."""
    return dump(structure.dump(_Archives(schema=SCHEMA, facts=facts)))


def _archive_problems(document: _Archives) -> Iterator[Mismatch]:
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
    if problem := archive.inner_problem:
        yield Mismatch(path=(*path, "inner"), problem=problem)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Libraries:
    schema: SchemaNumber
    libraries: Annotated[tuple[LibrarySet, ...], NotEmpty(), Unique("id")]


def read_libraries(text: str, file: str, archives: ArchiveFacts) -> tuple[LibrarySet, ...]:
    """Read `libraries.yaml`.

    Raises:
        InvalidInput: With every fault of the document.
    """
    tables = {"archives": {archive.id: archive for archive in archives.archives}}
    return structured(_Libraries, read(text, file), file, tables=tables, check=_set_problems).libraries


def _set_problems(document: _Libraries) -> Iterator[Mismatch]:
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
