"""A row is proven for real: its packages are resolved, installed, run, recorded, and taken away again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from envbuilder.catalog.evidence import Documented, Measured
from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.catalog.load.environments import Proof, dump_proof
from envbuilder.catalog.selection import find
from envbuilder.lock.lockfile import load
from envbuilder.lock.resolve.shipped_closures import load_closures
from tests.e2e.conftest import Tool

ROW = "tf-2.15-cpu"
MATRICES = Path(__file__).parents[2] / "matrices"


@pytest.fixture
def matrices(tmp_path: Path) -> Path:
    """A copy of the catalog where nothing of this row is proven and no packages are shipped with it."""
    folder = tmp_path / "matrices"
    shutil.copytree(MATRICES, folder)
    shutil.rmtree(folder / "evidence" / "reports" / ROW, ignore_errors=True)
    (folder / "locks" / f"{ROW}.yaml").unlink(missing_ok=True)
    known = find(load_catalog(MATRICES), ROW).evidence
    kept = Proof(evidence=tuple(entry for entry in known if isinstance(entry, Documented | Measured)))
    (folder / "evidence" / f"{ROW}.yaml").write_text(dump_proof(ROW, kept), encoding="utf-8")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_row_is_proven_once_and_the_second_run_runs_nothing(tool: Tool, matrices: Path) -> None:
    first = tool("catalog", "prove", ROW, "--tier", "cpu", "--json", ENVBUILDER_MATRICES=str(matrices))

    assert first.status == 0, first.stderr
    [row] = first.document()["environments"]
    assert (row["proven"], row["ran"]) == (True, True)
    assert {entry["grade"] for entry in row["evidence"]} == {"resolved", "cpu"}
    made = contents(matrices)
    assert f"locks/{ROW}.yaml" in made
    assert [name for name in made if name.startswith(f"evidence/reports/{ROW}/cpu-")]
    assert not list(tool.cache.glob("work/proving-*"))

    second = tool("catalog", "prove", ROW, "--tier", "cpu", "--json", ENVBUILDER_MATRICES=str(matrices))

    assert second.status == 0, second.stderr
    [again] = second.document()["environments"]
    assert (again["proven"], again["ran"]) == (True, False)
    assert again["evidence"] == row["evidence"]
    assert contents(matrices) == made
    assert "installing" not in second.stderr


def test_the_packages_that_were_proven_are_those_that_everybody_gets(
    tool: Tool, matrices: Path, tmp_path: Path
) -> None:
    proven = tool("catalog", "prove", ROW, "--tier", "resolved", ENVBUILDER_MATRICES=str(matrices))
    assert proven.status == 0, proven.stderr
    assert tool("init", ROW, folder=tmp_path).status == 0

    locked = tool("lock", folder=tmp_path, ENVBUILDER_MATRICES=str(matrices))

    assert locked.status == 0, locked.stderr
    assert f"packages as shipped with {ROW}" in locked.stderr
    path = matrices / "locks" / f"{ROW}.yaml"
    closures = load_closures(path.read_text(encoding="utf-8"), path.name, ROW)
    made = load((tmp_path / "envbuilder.lock").read_text(encoding="utf-8"), "envbuilder.lock")
    [shipped] = [closure for closure in closures if made.base.id in closure.bases]
    assert {pin.sha256 for pin in made.packages} == {each.sha256 for each in shipped.packages}
