"""Proofs are written where the catalog reads them, at once, and only when they say something new."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envbuilder.core.errors import UsageError
from envbuilder.curation.proof.catalog_files import CatalogFiles


def files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.is_file()
    }


def test_each_kind_has_its_place(tmp_path: Path) -> None:
    records = CatalogFiles(matrices=tmp_path)
    records.write_evidence("row", "evidence\n")
    records.write_closures("row", "closures\n")
    assert records.write_report("row", "cpu-3.11", "report\n") == "row/cpu-3.11.json"
    assert files(tmp_path) == {
        "evidence/row.yaml": "evidence\n",
        "locks/row.yaml": "closures\n",
        "evidence/reports/row/cpu-3.11.json": "report\n",
    }


def test_what_is_written_again_is_not_touched_unless_it_changed(tmp_path: Path) -> None:
    records, path = CatalogFiles(matrices=tmp_path), tmp_path / "evidence" / "row.yaml"
    records.write_evidence("row", "same\n")
    os.utime(path, (1, 1))
    records.write_evidence("row", "same\n")
    assert path.stat().st_mtime == 1
    records.write_evidence("row", "ü\n")
    assert path.read_bytes() == "ü\n".encode()
    assert files(tmp_path) == {"evidence/row.yaml": "ü\n"}


def test_a_folder_that_can_be_written_is_not_refused(tmp_path: Path) -> None:
    CatalogFiles(matrices=tmp_path).refuse_unwritable()


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_proven(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not writable") as caught:
        CatalogFiles(matrices=tmp_path / "nowhere").refuse_unwritable()
    assert "ENVBUILDER_MATRICES=DIR" in caught.value.hint


def test_a_report_that_no_evidence_names_is_removed_and_those_of_other_rows_stay(tmp_path: Path) -> None:
    records = CatalogFiles(matrices=tmp_path)
    kept = records.write_report("row", "cpu-3.11", "kept\n")
    records.write_report("row", "cpu-3.9", "dropped\n")
    other = records.write_report("other", "cpu-3.9", "other\n")
    records.drop_reports("row", [kept])
    records.drop_reports("nothing", [])
    assert files(tmp_path / "evidence" / "reports") == {kept: "kept\n", other: "other\n"}
