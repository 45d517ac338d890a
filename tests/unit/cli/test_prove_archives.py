"""`catalog prove --tier archive` opens the archives of environments and records the hashes of their libraries."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from envbuilder.catalog.archives import ArchivedLibrary, ArchiveFacts, ArchiveFormat, Publisher, VendorArchive
from envbuilder.catalog.load.tables import dump_archives, read_archives
from envbuilder.catalog.sources import Source
from envbuilder.core.digests import digest_of
from envbuilder.curation.stand_ins.library import compiled, stand_in
from tests.fakes.catalogs import DATA
from tests.unit.cli.running import CommandLine, Ended

SONAME = "libcusolver.so.11"
CONTENT = compiled(stand_in(SONAME, ()), os.environ["PATH"])


@dataclass(kw_only=True)
class Place:
    """A catalog with one archive, and a directory that has its file.

    Attributes:
        matrices: The catalog.
        folder: The directory.
    """

    matrices: Path
    folder: Path

    @property
    def archive(self) -> VendorArchive:
        [archive] = self._facts.archives
        return archive

    @property
    def _facts(self) -> ArchiveFacts:
        return read_archives((self.matrices / "archives.yaml").read_text(encoding="utf-8"), "archives.yaml")

    def write(self, *, sha256: str = "", library_sha256: str = "") -> None:
        """Write the archive, and the catalog with its sha256 or another one."""
        self.folder.mkdir(exist_ok=True)
        library = self.folder / SONAME
        library.write_bytes(CONTENT)
        with tarfile.open(self.folder / "cuda.tgz", "w:gz") as tar:
            tar.add(library, f"lib64/{SONAME}.1")
        real = digest_of((self.folder / "cuda.tgz").read_bytes()).removeprefix("sha256:")
        archive = VendorArchive(
            id="cuda-11.2-archive",
            format=ArchiveFormat.TAR_GZIP,
            publisher="nvidia-developer",
            path="compute/cuda.tgz",
            file="cuda.tgz",
            sha256=sha256 or real,
            libraries=(ArchivedLibrary(soname=SONAME, path=f"lib64/{SONAME}.1", sha256=library_sha256),),
            agreeing=2,
            sources=(Source(text="made up for tests"),),
        )
        publisher = Publisher(id="nvidia-developer", title="NVIDIA", address="https://example.org/")
        facts = ArchiveFacts(publishers=(publisher,), archives=(archive,))
        (self.matrices / "archives.yaml").write_text(dump_archives(facts), encoding="utf-8")

    def prove(self, envbuilder: CommandLine, *options: str) -> Ended:
        """Prove the archives of the GPU row, with the directory in place of the publisher."""
        mapped = f"nvidia-developer={self.folder}"
        return envbuilder("catalog", "prove", "tf-2.4*", "--tier", "archive", "--publisher", mapped, *options)


@pytest.fixture
def place(envbuilder: CommandLine) -> Place:
    matrices = envbuilder.folder / "matrices"
    shutil.copytree(DATA / "catalog", matrices)
    libraries = matrices / "libraries.yaml"
    text = libraries.read_text(encoding="utf-8")
    uses = f'    archives:\n      - archive: "cuda-11.2-archive"\n        sonames:\n          - "{SONAME}"\n'
    libraries.write_text(text.replace("    sonames:\n", f"{uses}    sonames:\n", 1), encoding="utf-8")
    row = matrices / "environments" / "tf-2.4-cuda11.0.yaml"
    row.write_text(row.read_text(encoding="utf-8").replace('"wheels"', '"archive"'), encoding="utf-8")
    envbuilder.set("ENVBUILDER_MATRICES", str(matrices))
    made = Place(matrices=matrices, folder=envbuilder.folder / "files")
    made.write()
    return made


def test_hashes_are_recorded_once(envbuilder: CommandLine, place: Place) -> None:
    ended = place.prove(envbuilder)
    assert ended.status == 0, ended.stderr
    assert ended.stdout == "cuda-11.2-archive: 0 libraries as in the catalog, 1 recorded\n"
    assert f"sha256:{place.archive.libraries[0].sha256}" == digest_of(CONTENT)
    assert place.archive.size == (place.folder / "cuda.tgz").stat().st_size
    assert "catalog prove --tier archive" in place.archive.sources[-1].text

    before = place.archive
    again = place.prove(envbuilder)
    assert again.stdout == "cuda-11.2-archive: 1 libraries as in the catalog, 0 recorded\n"
    assert place.archive == before


def test_a_library_that_differs_is_named_and_nothing_is_recorded(envbuilder: CommandLine, place: Place) -> None:
    place.write(library_sha256="0" * 64)
    ended = place.prove(envbuilder)
    assert ended.status == 1
    assert "differs from the catalog; nothing was recorded" in ended.stdout
    assert f"{SONAME} has sha256" in ended.stdout
    assert (place.archive.size, place.archive.libraries[0].sha256) == (0, "0" * 64)


def test_another_file_under_the_name_is_not_opened(envbuilder: CommandLine, place: Place) -> None:
    place.write(sha256="1" * 64)
    ended = place.prove(envbuilder)
    assert ended.status == 1
    assert "cuda-11.2-archive: not opened" in ended.stdout
    assert place.archive.libraries[0].sha256 == ""


def test_machines_get_every_hash(envbuilder: CommandLine, place: Place) -> None:
    [archive] = json.loads(place.prove(envbuilder, "--json").stdout)["archives"]
    assert archive == {
        "id": "cuda-11.2-archive",
        "opened": True,
        "problems": [],
        "libraries": [
            {
                "soname": SONAME,
                "sha256": digest_of(CONTENT).removeprefix("sha256:"),
                "size": len(CONTENT),
                "recorded": True,
            }
        ],
    }


def test_environments_without_archives_are_refused(envbuilder: CommandLine, place: Place) -> None:
    assert place.matrices.is_dir()
    ended = envbuilder("catalog", "prove", "tf-2.15-cpu", "--tier", "archive")
    assert ended.status == 2
    assert "no environment of these takes libraries from vendor archives: tf-2.15-cpu" in ended.stderr
