"""The product's own evidence and shipped packages: they are about the rows as they are now."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envbuilder.catalog.environments import Environment
from envbuilder.catalog.evidence import BuiltWithStandIns, Evidence, Grade, ProvenImage, RanOnCpu, RanOnGpu, Resolved
from envbuilder.catalog.load.environments import Proof, dump_proof
from envbuilder.lock.resolve.requests import row_request
from envbuilder.lock.resolve.shipped_closures import ClosureFolder, dump_closures
from tests.fakes.catalogs import MATRICES, real_catalog

ROWS = real_catalog().environments
SHIPPED = ClosureFolder(folder=MATRICES / "locks")
REPORTS = MATRICES / "evidence" / "reports"

by_id = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)


def runs(row: Environment) -> list[RanOnCpu | BuiltWithStandIns | ProvenImage | RanOnGpu]:
    return [entry for entry in row.evidence if isinstance(entry, RanOnCpu | BuiltWithStandIns | ProvenImage | RanOnGpu)]


@by_id
def test_every_base_of_a_row_has_its_packages(row: Environment) -> None:
    missing = [choice.system.id for choice in row.bases if SHIPPED.find(row.id, row_request(row, choice)) is None]
    assert not missing, f"`envbuilder catalog prove --tier resolved {row.id}` makes them"


@by_id
def test_a_shipped_closure_has_the_row_s_tensorflow_and_nothing_twice(row: Environment) -> None:
    for closure in SHIPPED.read(row.id):
        versions = {each.name: each.version for each in closure.packages}
        assert versions[row.framework.package] == str(row.framework.version)
        assert len(versions) == len(closure.packages)


@by_id
def test_every_shipped_file_has_its_size_which_decides_about_layers(row: Environment) -> None:
    files = [each for closure in SHIPPED.read(row.id) for each in (*closure.packages, *closure.build)]
    assert [each.file for each in files if not each.size] == []


@by_id
def test_evidence_is_about_what_is_shipped(row: Environment) -> None:
    shipped = {closure.digest for closure in SHIPPED.read(row.id)}
    resolved = {entry.closure for entry in row.evidence if isinstance(entry, Resolved)}
    assert resolved == shipped
    assert {entry.closure for entry in runs(row)} <= shipped


@by_id
def test_evidence_of_a_run_has_its_report(row: Environment) -> None:
    for entry in runs(row):
        report = json.loads((REPORTS / entry.report).read_text(encoding="utf-8"))
        assert report["environment"] == row.id
        assert report["passed"] is True
        trained = {each["id"]: each["outcome"] for each in report["results"]}
        assert trained["training-loss-falls"] == trained["save-load-equal"] == "passed"


@by_id
def test_a_row_that_ran_nowhere_says_why(row: Environment) -> None:
    assert runs(row) or any(entry.grade is Grade.CPU for entry in row.unproven)


def test_no_report_is_left_without_evidence() -> None:
    named = {entry.report for row in ROWS for entry in runs(row)}
    assert {str(path.relative_to(REPORTS)) for path in REPORTS.rglob("*.json")} == named


def test_no_closures_are_left_without_a_row() -> None:
    assert {path.stem for path in (MATRICES / "locks").glob("*.yaml")} == {row.id for row in ROWS}


@by_id
def test_what_machines_wrote_they_would_write_again(row: Environment) -> None:
    def text(folder: str) -> str:
        return Path(MATRICES, folder, f"{row.id}.yaml").read_text(encoding="utf-8")

    assert dump_proof(row.id, Proof(evidence=row.evidence, unproven=row.unproven)) == text("evidence")
    assert dump_closures(row.id, SHIPPED.read(row.id)) == text("locks")


@by_id
def test_evidence_is_sorted_and_every_kind_of_run_is_there_once(row: Environment) -> None:
    ranks = [entry.grade.rank for entry in row.evidence]
    assert ranks == sorted(ranks)
    kinds: list[type[Evidence]] = [type(entry) for entry in runs(row)]
    assert len(kinds) == len(set(kinds))
