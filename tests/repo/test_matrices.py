"""The product's own matrices: canonical, and every fact says where it comes from."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from envbuilder.model.rows import Catalog, Environment
from envbuilder.reading.canonical import dump
from envbuilder.reading.documents import parse
from tests.fakes.catalogs import MATRICES, real_catalog
from tests.unit.reading.plain import plain_of

FILES = sorted(MATRICES.rglob("*.yaml"))
CATALOG: Catalog = real_catalog()


def without_leading_comments(text: str) -> str:
    lines = text.splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if not line.startswith("#"))
    return "".join(lines[first:])


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(MATRICES)))
def test_a_matrix_is_canonical(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    value = plain_of(parse(text, file.name))
    assert isinstance(value, dict)
    assert dump(value) == without_leading_comments(text)


@pytest.mark.parametrize("row", CATALOG.environments, ids=lambda row: row.id)
def test_a_row_has_evidence_and_sources(row: Environment) -> None:
    assert row.evidence
    assert row.sources
    assert row.framework.sources
    assert all(deviation.sources for choice in row.bases for deviation in choice.deviations)
    assert {"documented", "measured", "resolved", "cpu", "gpu"} >= {evidence.grade for evidence in row.evidence}


@pytest.mark.parametrize("row", CATALOG.environments, ids=lambda row: row.id)
def test_a_row_that_claims_a_measurement_names_the_wheel(row: Environment) -> None:
    claims = any(evidence.grade == "measured" for evidence in row.evidence)
    assert claims == bool(row.framework.measured)


def test_every_advisory_keeps_some_row_out_of_a_trap_or_explains_a_deviation() -> None:
    used = {bound.advisory.id for row in CATALOG.environments for bound in (*row.constraints, *row.additions)}
    stated = {
        source.text.removeprefix("advisory ")
        for row in CATALOG.environments
        for choice in row.bases
        for deviation in choice.deviations
        for source in deviation.sources
    }
    assert {advisory.id for advisory in CATALOG.advisories} == used | (
        stated & {each.id for each in CATALOG.advisories}
    )


def test_every_library_set_and_base_is_used_by_some_row() -> None:
    choices = [choice for row in CATALOG.environments for choice in row.bases]
    assert {library.id for library in CATALOG.libraries} == {each.libraries.id for each in choices if each.libraries}
    assert {base.id for base in CATALOG.bases} == {choice.system.id for choice in choices}


def test_gpus_and_drivers_are_ascending() -> None:
    capabilities = [gpu.capability for gpu in CATALOG.cuda.gpus]
    assert capabilities == sorted(capabilities)
    assert [family.major for family in CATALOG.cuda.families] == sorted({each.major for each in CATALOG.cuda.families})


@pytest.mark.parametrize("row", CATALOG.environments, ids=lambda row: row.id)
def test_an_environment_is_hard_coded_nowhere(row: Environment) -> None:
    package = MATRICES.parent / "envbuilder"
    naming = [
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        if row.id in file.read_text(encoding="utf-8") and not _only_in_docstrings(file, row.id)
    ]
    assert not naming


def _only_in_docstrings(file: Path, name: str) -> bool:
    """Whether every mention stands in a docstring: prose for a reader, and no code."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and name in str(node.value)]
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return all(id(constant) in prose for constant in constants)
