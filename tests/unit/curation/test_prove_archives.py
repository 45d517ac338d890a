"""An archive is opened, its libraries are compared with the catalog, and their hashes are recorded."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import pytest

from envbuilder.catalog.archives import (
    ArchivedLibrary,
    ArchiveFacts,
    ArchiveFormat,
    ArchivePin,
    ArchiveUse,
    Publisher,
    VendorArchive,
)
from envbuilder.catalog.load.tables import dump_archives, read_archives
from envbuilder.catalog.sources import Source
from envbuilder.core.digests import digest_of
from envbuilder.core.errors import EnvbuilderError, SourceUnreachable
from envbuilder.curation.prove_archives import (
    ArchiveProof,
    Unopened,
    archives_of,
    archives_text,
    prove_archive,
    recorded,
)
from envbuilder.curation.stand_ins.library import compiled, stand_in
from tests.fakes.catalogs import small_catalog

CUBLAS = compiled(stand_in("libcublas.so.9.0", ()), os.environ["PATH"])
CUFFT = compiled(stand_in("libcufft.so.9.0", ()), os.environ["PATH"])
ARCHIVE = VendorArchive(
    id="cuda-9.0.176-runfile",
    format=ArchiveFormat.TAR_GZIP,
    publisher="nvidia-developer",
    path="compute/cuda-9.0.tgz",
    file="cuda-9.0.tgz",
    sha256="ab" * 32,
    libraries=(
        ArchivedLibrary(soname="libcublas.so.9.0", path="lib64/libcublas.so.9.0.176"),
        ArchivedLibrary(soname="libcufft.so.9.0", path="lib64/libcufft.so.9.0.176"),
    ),
    agreeing=2,
    sources=(Source(text="a recipe"),),
)
OTHER = replace(ARCHIVE, id="cudnn-7.0.5-cuda9.0", sha256="cd" * 32)
FACTS = ArchiveFacts(
    publishers=(Publisher(id="nvidia-developer", title="NVIDIA", address="https://example.org/"),),
    archives=(ARCHIVE, OTHER),
)
COMMENTS = "# Archives.\n# More.\n"


def sha256(content: bytes) -> str:
    return digest_of(content).removeprefix("sha256:")


@dataclass(kw_only=True)
class Opened:
    """An archive as it was found.

    Attributes:
        cublas: Content of one of its libraries.
        size: Bytes of the archive.
        pin: What was fetched.
        error: Why nothing can be fetched.
    """

    cublas: bytes = CUBLAS
    size: int = 5000
    pin: ArchivePin | None = None
    error: EnvbuilderError | None = None

    def fetch(self, pin: ArchivePin) -> int:
        self.pin = pin
        if self.error:
            raise self.error
        return self.size

    def take(self, pin: ArchivePin) -> Mapping[str, str]:
        contents = (self.cublas, CUFFT)
        return {library.path: sha256(content) for library, content in zip(pin.libraries, contents, strict=True)}

    def open(self, wanted: str) -> BinaryIO:
        return io.BytesIO(next(each for each in (self.cublas, CUFFT) if sha256(each) == wanted))


def proven(archive: VendorArchive, opened: Opened) -> ArchiveProof:
    proof = prove_archive(archive, opened)
    assert isinstance(proof, ArchiveProof)
    return proof


def pinned(cublas: str) -> VendorArchive:
    first, second = ARCHIVE.libraries
    return replace(ARCHIVE, libraries=(replace(first, sha256=cublas), second))


def test_an_opened_archive_gives_the_hash_of_every_library() -> None:
    proof = proven(ARCHIVE, Opened())
    assert [(each.soname, each.sha256, each.size) for each in proof.libraries] == [
        ("libcublas.so.9.0", sha256(CUBLAS), len(CUBLAS)),
        ("libcufft.so.9.0", sha256(CUFFT), len(CUFFT)),
    ]
    assert (proof.problems, proof.new) == ((), proof.libraries)


def test_known_hashes_are_not_used_so_that_the_archive_itself_is_opened() -> None:
    opened = Opened()
    proven(pinned(sha256(CUBLAS)), opened)
    assert opened.pin
    assert [each.sha256 for each in opened.pin.libraries] == ["", ""]


def test_a_library_as_in_the_catalog_is_not_new() -> None:
    proof = proven(pinned(sha256(CUBLAS)), Opened())
    assert not proof.problems
    assert [each.soname for each in proof.new] == ["libcufft.so.9.0"]


def test_a_library_with_another_hash_than_the_catalog_is_a_problem() -> None:
    [problem] = proven(pinned("0" * 64), Opened()).problems
    assert problem == f"libcublas.so.9.0 has sha256 {sha256(CUBLAS)}; the catalog has {'0' * 64}"


@pytest.mark.parametrize(("content", "name"), [(CUFFT, "libcufft.so.9.0"), (b"a text", "nothing")])
def test_a_file_that_is_another_library_is_a_problem(content: bytes, name: str) -> None:
    [problem] = proven(ARCHIVE, Opened(cublas=content)).problems
    assert problem.startswith(f"libcublas.so.9.0 calls itself {name}")


def test_an_archive_of_another_size_than_the_catalog_is_a_problem() -> None:
    [problem] = proven(replace(ARCHIVE, size=4999), Opened()).problems
    assert problem == "cuda-9.0.tgz has 5000 bytes; the catalog has 4999"


def test_an_archive_that_cannot_be_fetched_is_not_opened_and_says_why() -> None:
    error = SourceUnreachable("the server does not answer", hint="try a mirror")
    outcome = prove_archive(ARCHIVE, Opened(error=error))
    assert outcome == Unopened(archive=ARCHIVE, why="the server does not answer", hint="try a mirror")


def test_hashes_size_and_day_are_recorded_and_nothing_else_changes(tmp_path: Path) -> None:
    path = tmp_path / "archives.yaml"
    path.write_text(COMMENTS + dump_archives(FACTS), encoding="utf-8")
    proof = proven(ARCHIVE, Opened())

    text = archives_text(recorded(FACTS, proof, source="opened 2026-11-22"), path)

    assert text.startswith(COMMENTS)
    first, second = read_archives(text, "archives.yaml").archives
    assert [each.sha256 for each in first.libraries] == [sha256(CUBLAS), sha256(CUFFT)]
    assert (first.size, first.sources[-1].text) == (5000, "opened 2026-11-22")
    assert second == OTHER


def test_every_archive_of_the_environments_is_named_once() -> None:
    catalog = small_catalog()
    uses = tuple(ArchiveUse(archive=each, sonames=()) for each in (OTHER, ARCHIVE))
    libraries = replace(catalog.libraries[0], archives=uses)
    row = catalog.environments[0]
    changed = replace(row, bases=(*row.bases, replace(row.bases[0], libraries=libraries)))
    assert archives_of((changed, changed, *catalog.environments)) == (ARCHIVE, OTHER)
