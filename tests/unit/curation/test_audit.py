"""A wheel is found on the index, taken apart beside its row, and written back into it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

import pytest
from packaging.version import Version

from envbuilder.catalog.claims import Claims, claims_of
from envbuilder.catalog.environments import OtherRelease
from envbuilder.catalog.evidence import Documented, Measured
from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.catalog.selection import find
from envbuilder.core.errors import ResolutionFailed, UsageError
from envbuilder.core.versions import Release
from envbuilder.curation.audit import (
    audit_release,
    audit_row,
    compared,
    pythons_of,
    record_audit,
)
from envbuilder.curation.proof.catalog_files import CatalogFiles
from envbuilder.curation.wheel_audit.audited_wheel import MeasuredWheel
from envbuilder.lock.index.index import IndexFile
from tests.fakes.catalogs import DATA, real_catalog, small_catalog, small_row
from tests.fakes.index import FakeIndex

CATALOG = small_catalog()
ROW = small_row("tf-2.4-cuda11.0")
TODAY = date(2026, 11, 21)


def index_file(python: str, *, sha256: str = "", version: str = "2.4.4") -> IndexFile:
    abi = python + ("m" if python == "cp37" else "")
    name = f"tensorflow_gpu-{version}-{python}-{abi}-manylinux2010_x86_64.whl"
    return IndexFile(
        file=name, sha256=sha256 or name.encode().hex()[:64].ljust(64, "0"), url=f"https://x.example/{name}"
    )


OTHER = OtherRelease(package="tensorflow-gpu", version=Version("2.4.1"), pythons=(Release("3.8"),), advisory=None)
INDEX_OF_OTHER = FakeIndex({("tensorflow-gpu", "2.4.1"): [index_file("cp38", version="2.4.1")]})
WINDOWS = IndexFile(file="tensorflow_gpu-2.4.4-cp39-cp39-win_amd64.whl", sha256="9" * 64, url="https://x.example/w")
INDEX = FakeIndex(
    {
        ("tensorflow-gpu", "2.4.4"): [index_file("cp37"), index_file("cp38"), WINDOWS],
        ("tensorflow-gpu", "2.5.0"): [index_file("cp38", version="2.5.0")],
    }
)


def measured(file: str, claims: Claims, *, package: str = "tensorflow-gpu") -> MeasuredWheel:
    return MeasuredWheel(
        package=package,
        version=Version(file.split("-")[1]),
        file=file,
        sha256="c" * 64,
        claims=claims,
        cuda_pins=(),
        record={"file": file},
    )


@dataclass
class Wheels:
    """The `MeasuredWheels` for tests: every wheel is as it was told.

    Attributes:
        claims: What every wheel says.
        measured: Names of the files, in order.
        index: Files of the index.
    """

    claims: Claims = field(default_factory=lambda: claims_of(ROW))
    measured: list[str] = field(default_factory=list)
    index: FakeIndex = INDEX

    def files(self, package: str, version: str) -> tuple[IndexFile, ...]:
        return self.index.files(package, version)

    def of_index(self, file: IndexFile) -> MeasuredWheel:
        return self.of_host(Path(file.file))

    def of_host(self, path: Path) -> MeasuredWheel:
        self.measured.append(path.name)
        return measured(path.name, self.claims)


@pytest.fixture
def wheels() -> Wheels:
    return Wheels()


@pytest.fixture
def matrices(tmp_path: Path) -> Path:
    return shutil.copytree(DATA / "catalog", tmp_path / "matrices")


def test_a_row_is_audited_with_the_wheel_of_its_interpreter(wheels: Wheels) -> None:
    audit = audit_row(CATALOG, ROW, wheels)
    assert audit.row == ROW.id
    assert audit.agrees
    assert wheels.measured == [index_file(f"cp{ROW.default_python}".replace(".", "")).file]


def test_the_wheel_of_another_interpreter_can_be_asked_for(wheels: Wheels) -> None:
    audit_row(CATALOG, ROW, wheels, python=Release("3.7"))
    assert wheels.measured == [index_file("cp37").file]


def test_a_difference_is_told(wheels: Wheels) -> None:
    wheels.claims = replace(wheels.claims, glibc=Release("2.30"))
    audit = audit_row(CATALOG, ROW, wheels)
    assert not audit.agrees
    assert [each.field for each in audit.comparisons if not each.agrees] == ["tensorflow.glibc"]


def test_a_release_that_no_row_is_about_has_nothing_to_agree_with(wheels: Wheels) -> None:
    audit = audit_release(CATALOG, "tensorflow-gpu", Version("2.5.0"), wheels, python=None)
    assert (audit.row, audit.comparisons, audit.agrees) == ("", (), True)


def test_a_release_that_a_row_lists_is_compared_with_that_row(wheels: Wheels) -> None:
    wheel = measured("tensorflow_gpu-2.4.1-cp38-cp38-manylinux2010_x86_64.whl", wheels.claims)
    audit = compared(real_catalog(), wheel)
    assert (audit.row, audit.listed_under) == ("tf-2.4-cuda11.0", Version("2.4.4"))
    assert audit.comparisons
    own = compared(real_catalog(), measured("tensorflow_gpu-2.4.4-cp38-cp38-manylinux2010_x86_64.whl", wheels.claims))
    assert (own.row, own.listed_under) == ("tf-2.4-cuda11.0", None)


def test_a_release_that_a_row_only_lists_is_not_written_into_it(wheels: Wheels, matrices: Path) -> None:
    catalog = load_catalog(matrices)
    [row] = [row for row in catalog.environments if row.id == ROW.id]
    other = replace(row, framework=replace(row.framework, others=(OTHER,)))
    listing = replace(
        catalog, environments=tuple(other if each.id == row.id else each for each in catalog.environments)
    )
    audit = compared(listing, measured("tensorflow_gpu-2.4.1-cp38-cp38-manylinux2010_x86_64.whl", wheels.claims))
    assert (audit.row, audit.listed_under) == (row.id, row.framework.version)
    with pytest.raises(UsageError, match=r"is for tensorflow-gpu 2\.4\.4, not 2\.4\.1"):
        record_audit(listing, audit, Wheels(index=INDEX_OF_OTHER), CatalogFiles(matrices=matrices), TODAY)


def test_a_release_is_taken_for_its_newest_interpreter_on_linux(wheels: Wheels) -> None:
    audit_release(CATALOG, "tensorflow-gpu", Version("2.4.4"), wheels, python=None)
    assert wheels.measured == [index_file("cp38").file]
    assert pythons_of(INDEX.files("tensorflow-gpu", "2.4.4")) == (Release("3.7"), Release("3.8"))


def test_what_the_index_does_not_have_is_told_with_what_it_has(wheels: Wheels) -> None:
    with pytest.raises(ResolutionFailed, match=r"no wheel of tensorflow-gpu 9\.9"):
        audit_release(CATALOG, "tensorflow-gpu", Version("9.9"), wheels, python=None)
    with pytest.raises(ResolutionFailed) as caught:
        audit_release(CATALOG, "tensorflow-gpu", Version("2.4.4"), wheels, python=Release("3.11"))
    assert caught.value.hint == "it has wheels for Python 3.7, 3.8"


def test_a_wheel_on_this_host_is_compared_with_its_row_too(wheels: Wheels) -> None:
    assert compared(CATALOG, wheels.of_host(Path(index_file("cp38").file))).row == ROW.id


def test_a_name_that_is_used_for_both_kinds_goes_to_the_row_of_its_kind() -> None:
    cpu = replace(claims_of(ROW), cuda=None)
    wheel = measured("tensorflow_gpu-2.4.4-cp38-cp38-manylinux2010_x86_64.whl", cpu)
    audit = compared(CATALOG, wheel)
    assert audit.row == ROW.id
    assert not audit.agrees


def test_what_was_measured_goes_into_row_and_evidence(wheels: Wheels, matrices: Path) -> None:
    wheels.claims = replace(wheels.claims, glibc=Release("2.17"))
    catalog = load_catalog(matrices)
    audit = audit_row(catalog, ROW, wheels)
    assert record_audit(catalog, audit, wheels, CatalogFiles(matrices=matrices), TODAY) == ROW.id
    now = find(load_catalog(matrices), ROW.id)
    assert (now.framework.glibc, now.framework.measured) == (Release("2.17"), "c" * 64)
    kinds = [type(entry) for entry in now.evidence]
    assert kinds == [Documented, Measured]
    again = compared(load_catalog(matrices), audit.wheel)
    assert again.agrees


def test_writing_twice_changes_nothing_more(wheels: Wheels, matrices: Path) -> None:
    path = matrices / "environments" / f"{ROW.id}.yaml"
    texts = []
    for _ in range(2):
        catalog = load_catalog(matrices)
        audit = audit_row(catalog, find(catalog, ROW.id), wheels)
        record_audit(catalog, audit, wheels, CatalogFiles(matrices=matrices), TODAY)
        texts.append(path.read_text(encoding="utf-8"))
    assert texts[0] == texts[1]


def test_a_new_release_becomes_a_row_that_loads(wheels: Wheels, matrices: Path) -> None:
    catalog = load_catalog(matrices)
    audit = audit_release(catalog, "tensorflow-gpu", Version("2.5.0"), wheels, python=None)
    made = record_audit(catalog, audit, wheels, CatalogFiles(matrices=matrices), TODAY)
    assert made == "tf-2.5-cuda11.0"
    row = find(load_catalog(matrices), made)
    assert row.framework.version == Version("2.5.0")
    assert row.framework.pythons == (Release("3.8"),)
    assert [choice.system.id for choice in row.bases] == ["image-11.0", "debian-new"]
    assert compared(load_catalog(matrices), audit.wheel).agrees


def test_another_patch_release_does_not_take_the_row_over(wheels: Wheels, matrices: Path) -> None:
    catalog = load_catalog(matrices)
    wheel = measured("tensorflow_gpu-2.4.9-cp38-cp38-manylinux2010_x86_64.whl", wheels.claims)
    with pytest.raises(UsageError, match=r"tf-2\.4-cuda11\.0 is for tensorflow-gpu 2\.4\.4, not 2\.4\.9"):
        record_audit(catalog, compared(catalog, wheel), wheels, CatalogFiles(matrices=matrices), TODAY)


def test_a_measurement_that_was_made_before_is_not_written_again(wheels: Wheels, matrices: Path) -> None:
    for day in (TODAY, date(2027, 1, 1)):
        catalog = load_catalog(matrices)
        audit = audit_row(catalog, find(catalog, ROW.id), wheels)
        record_audit(catalog, audit, wheels, CatalogFiles(matrices=matrices), day)
    entries = [entry for entry in find(load_catalog(matrices), ROW.id).evidence if isinstance(entry, Measured)]
    assert [entry.when for entry in entries] == [TODAY]
