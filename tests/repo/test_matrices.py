"""The product's own matrices: canonical, and every fact says where it comes from."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.evidence import Grade
from envbuilder.core.yaml.canonical import dump
from envbuilder.core.yaml.documents import parse
from envbuilder.core.yaml.structured import plain_of
from envbuilder.lock.resolve.shipped_closures import ClosureFolder
from envbuilder.lock.resolve.tensorflow_distributions import tensorflows
from tests.fakes.catalogs import MATRICES, real_catalog

FILES = sorted(MATRICES.rglob("*.yaml"))
CATALOG: Catalog = real_catalog()


def without_leading_comments(text: str) -> str:
    lines = text.splitlines(keepends=True)
    first = next(number for number, line in enumerate(lines) if not line.startswith("#"))
    return "".join(lines[first:])


def test_every_minor_release_of_the_catalog_has_the_day_of_its_publication() -> None:
    minors = {f"{row.framework.version.major}.{row.framework.version.minor}" for row in CATALOG.environments}
    assert {str(each.release) for each in CATALOG.releases} == minors


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


@pytest.mark.parametrize("row", CATALOG.environments, ids=lambda row: row.id)
def test_a_row_was_measured_and_documented(row: Environment) -> None:
    assert row.framework.measured
    assert {Grade.DOCUMENTED, Grade.MEASURED} <= {entry.grade for entry in row.evidence}


def test_every_minor_release_from_1_4_to_2_21_has_a_gpu_row_and_a_cpu_row() -> None:
    minors = [f"1.{minor}" for minor in range(4, 16)] + [f"2.{minor}" for minor in range(22)]
    ids = [row.id for row in CATALOG.environments]
    for minor in minors:
        assert f"tf-{minor}-cpu" in ids
        assert any(known.startswith(f"tf-{minor}-cuda") for known in ids)
    assert len(ids) >= 2 * len(minors)


def test_every_advisory_keeps_some_row_out_of_a_trap_or_explains_a_deviation() -> None:
    used = {bound.advisory.id for row in CATALOG.environments for bound in (*row.constraints, *row.additions)}
    used |= {advisory.id for row in CATALOG.environments for advisory in row.advisories}
    others = [other for row in CATALOG.environments for other in row.framework.others]
    used |= {other.advisory.id for other in others if other.advisory}
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


@pytest.mark.parametrize("row", CATALOG.environments, ids=lambda row: row.id)
def test_the_files_of_a_row_hold_its_tensorflow_and_no_second_one(row: Environment) -> None:
    for closure in ClosureFolder(folder=MATRICES / "locks").read(row.id):
        assert tensorflows(each.name for each in closure.packages) == (row.framework.package,)


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


@pytest.mark.parametrize("row", [row for row in CATALOG.environments if row.cuda], ids=lambda row: row.id)
def test_summary_and_deviations_name_the_cudnn_that_was_measured(row: Environment) -> None:
    assert row.cuda
    compiled = row.cuda.cudnn.compiled
    assert f"cuDNN {compiled.series}" in row.summary
    for choice in row.bases:
        for deviation in choice.deviations:
            named = re.search(r"cuDNN is \S+ instead of (\S+)", deviation.what)
            assert named is None or f"{compiled}.".startswith(f"{named[1]}.")
