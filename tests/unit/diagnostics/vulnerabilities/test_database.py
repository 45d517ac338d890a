"""Databases are directories, zip files or single documents, and damaged ones are refused or named."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from envbuilder.core.errors import InvalidInput, UsageError
from envbuilder.diagnostics.vulnerabilities.database import Database
from tests.unit.diagnostics.vulnerabilities.made import directory, osv


def names(path: Path) -> list[str]:
    return [name for name, _ in Database(name=path.name, path=path).documents()]


def test_a_directory_is_read_in_the_order_of_its_paths(tmp_path: Path) -> None:
    directory(tmp_path / "osv", osv("B-1"), osv("A-1"))
    directory(tmp_path / "osv" / "PyPI", osv("C-1"))
    (tmp_path / "osv" / "README").write_text("not a document")
    assert names(tmp_path / "osv") == ["A-1.json", "B-1.json", "PyPI/C-1.json"]


def test_a_zip_file_and_a_single_document_have_the_same_content(tmp_path: Path) -> None:
    document = tmp_path / "A-1.json"
    document.write_text(json.dumps(osv("A-1")))
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(document, "PyPI/A-1.json")
        archive.writestr("index.csv", "A-1")
    [(_, one)] = Database(name="x", path=document).documents()
    [(name, other)] = Database(name="x", path=tmp_path / "all.zip").documents()
    assert (name, other) == ("PyPI/A-1.json", one)


def test_a_document_that_is_too_large_is_yielded_with_the_reason(tmp_path: Path) -> None:
    directory(tmp_path, osv("A-1", details="x" * (16 << 20)), osv("B-1"))
    found = dict(Database(name="x", path=tmp_path).documents())
    assert isinstance(found["A-1.json"], OSError)
    assert isinstance(found["B-1.json"], bytes)


def test_a_member_that_is_too_large_or_damaged_refuses_the_zip_file(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("A-1.json", bytes((16 << 20) + 1))
    with pytest.raises(InvalidInput, match=r"is not a usable zip file: 'A-1.json' claims 16777217 bytes"):
        names(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("A-1.json", json.dumps(osv("A-1")))
    path.write_bytes(path.read_bytes().replace(b"PyPI", b"PyPJ"))
    with pytest.raises(InvalidInput, match="Bad CRC-32"):
        names(path)


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="vulnerability database not found: missing"):
        names(tmp_path / "missing")
    (tmp_path / "text.zip").write_text("text")
    with pytest.raises(InvalidInput, match="is not a usable zip file"):
        names(tmp_path / "text.zip")
