"""A folder of matrices becomes a catalog, or every fault of every file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.core.errors import InvalidInput
from tests.fakes.catalogs import DATA, real_catalog, small_catalog


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(DATA / "catalog", tmp_path / "matrices")


def told(folder: Path) -> str:
    with pytest.raises(InvalidInput) as caught:
        load_catalog(folder)
    return caught.value.message.replace(f"{folder}/", "")


def test_rows_are_ordered_by_release_and_gpu_rows_come_first() -> None:
    assert [row.id for row in small_catalog().environments] == ["tf-1.7-cuda9.0", "tf-2.4-cuda11.0", "tf-2.15-cpu"]
    ids = [row.id for row in real_catalog().environments]
    assert ids.index("tf-2.15-cuda12.2") + 1 == ids.index("tf-2.15-cpu")


def test_the_order_of_the_files_does_not_matter_and_other_files_are_not_read(folder: Path) -> None:
    (folder / "environments" / "notes.txt").write_text("not yaml: [", encoding="utf-8")
    assert load_catalog(folder) == small_catalog()


def test_faults_of_several_files_are_told_together(folder: Path) -> None:
    for name in ("cuda.yaml", "advisories.yaml"):
        (folder / name).write_text("schema: ]", encoding="utf-8")
    message = told(folder)
    assert "advisories.yaml:1: not YAML" in message
    assert "cuda.yaml:1: not YAML" in message


@pytest.mark.parametrize("name", ["cuda.yaml", "bases.yaml", "libraries.yaml", "advisories.yaml"])
def test_a_file_that_is_not_there_is_told(folder: Path, name: str) -> None:
    (folder / name).unlink()
    assert f"{name}: cannot be read: No such file or directory" in told(folder)


def test_a_file_that_is_not_text_is_told(folder: Path) -> None:
    (folder / "environments" / "tf-2.15-cpu.yaml").write_bytes(b"\xff\xfe")
    assert "environments/tf-2.15-cpu.yaml: cannot be read: is not UTF-8 text" in told(folder)


def test_a_catalog_without_rows_is_told(folder: Path) -> None:
    shutil.rmtree(folder / "environments")
    shutil.rmtree(folder / "evidence")
    assert "environments: holds no environment" in told(folder)


def test_evidence_without_its_row_is_told(folder: Path) -> None:
    (folder / "environments" / "tf-2.15-cpu.yaml").unlink()
    assert "evidence/tf-2.15-cpu.yaml: environments/ has no such environment" in told(folder)


def test_a_row_without_evidence_is_told(folder: Path) -> None:
    (folder / "evidence" / "tf-2.15-cpu.yaml").unlink()
    assert "evidence/tf-2.15-cpu.yaml: is missing: each environment has evidence" in told(folder)


def test_a_row_knows_why_each_bound_is_there() -> None:
    row = next(row for row in small_catalog().environments if row.id == "tf-2.4-cuda11.0")
    assert [(bound.requirement, bound.advisory.id) for bound in row.constraints] == [("protobuf<3.21", "old-protobuf")]
    assert row.default_python == row.bases[0].python


def test_a_catalog_whose_files_have_not_changed_is_the_one_that_was_read_before(folder: Path) -> None:
    assert load_catalog(folder) is load_catalog(folder)


def test_a_file_of_the_same_size_that_was_replaced_is_read(folder: Path) -> None:
    file = folder / "advisories.yaml"
    before, text = load_catalog(folder), file.read_text(encoding="utf-8")
    spare = folder / "spare"
    spare.write_text(text.replace("schema: 1", "schema: 2"), encoding="utf-8")
    spare.replace(file)
    assert "schema" in told(folder)
    file.write_text(text, encoding="utf-8")
    assert load_catalog(folder) == before


def test_a_row_that_was_added_is_read(folder: Path) -> None:
    files = [folder / kind / "tf-2.15-cpu.yaml" for kind in ("environments", "evidence")]
    texts = [file.read_text(encoding="utf-8") for file in files]
    for file in files:
        file.unlink()
    fewer = load_catalog(folder)
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8")
    assert len(load_catalog(folder).environments) == len(fewer.environments) + 1
