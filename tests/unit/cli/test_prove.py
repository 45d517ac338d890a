"""`prove` tells what became of each row, and ends with 1 when one could not be proven."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from envbuilder.catalog.evidence import Grade
from envbuilder.curation.prove import prove
from envbuilder.wiring.proof import bare_environ
from tests.fakes.catalogs import DATA, small_row
from tests.fakes.proving import world
from tests.unit.cli.running import CommandLine

ROW = small_row("tf-2.15-cpu")


@pytest.fixture
def matrices(envbuilder: CommandLine) -> Path:
    """A catalog where the CPU row is proven already, and no interpreter on the search path."""
    folder = envbuilder.folder / "matrices"
    shutil.copytree(DATA / "catalog", folder)
    proving = world(folder)
    prove(ROW, Grade.CPU, proving.ports())
    envbuilder.set("ENVBUILDER_MATRICES", str(folder))
    envbuilder.set("PATH", str(envbuilder.folder / "nowhere"))
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("tier", "seen"), [("resolved", "packages for Python 3.11"), ("cpu", "imported, trained")])
def test_a_row_whose_evidence_holds_is_told_and_nothing_is_run(
    envbuilder: CommandLine, matrices: Path, tier: str, seen: str
) -> None:
    before = contents(matrices)
    ended = envbuilder("catalog", "prove", "tf-2.15-cpu", "--tier", tier)
    assert ended.status == 0, ended.stderr
    assert ended.stdout.startswith(f"1/1 tf-2.15-cpu: {tier}, as recorded before: {seen}")
    assert contents(matrices) == before


def test_what_is_told_to_machines_has_the_evidence_that_was_made(envbuilder: CommandLine, matrices: Path) -> None:
    assert matrices.is_dir()
    ended = envbuilder("catalog", "prove", "tf-2.15-cpu", "--json")
    assert ended.status == 0
    told = json.loads(ended.stdout)
    assert (told["schema"], told["tier"]) == (1, "cpu")
    [row] = told["environments"]
    assert (row["id"], row["proven"], row["ran"], row["unproven"]) == ("tf-2.15-cpu", True, False, [])
    assert [entry["grade"] for entry in row["evidence"]] == ["resolved", "cpu"]


def test_a_row_that_cannot_be_proven_here_ends_with_1_and_says_why(envbuilder: CommandLine, matrices: Path) -> None:
    shutil.copy(DATA / "catalog" / "evidence" / "tf-2.15-cpu.yaml", matrices / "evidence")
    ended = envbuilder("catalog", "prove", "tf-2.15-cpu")
    assert ended.status == 1
    assert ended.stdout.splitlines() == [
        "1/1 tf-2.15-cpu: not proven",
        "  cpu: no interpreter of Python 3.11 on this host",
    ]
    assert "no interpreter of Python 3.11" in (matrices / "evidence" / "tf-2.15-cpu.yaml").read_text(encoding="utf-8")
    told = json.loads(envbuilder("catalog", "prove", "tf-2.15-cpu", "--json").stdout)["environments"][0]
    assert (told["proven"], [entry["grade"] for entry in told["unproven"]]) == (False, ["cpu"])


def test_again_without_an_interpreter_takes_no_evidence_away(envbuilder: CommandLine, matrices: Path) -> None:
    before = contents(matrices)
    ended = envbuilder("catalog", "prove", "tf-2.15-cpu", "--again")
    assert ended.status == 0
    assert "as recorded before" in ended.stdout
    assert "keeps its evidence, no interpreter of Python 3.11 on this host" in ended.stderr
    assert contents(matrices) == before


def test_no_work_folder_stays_behind_an_environment_that_could_not_be_made(
    envbuilder: CommandLine, matrices: Path
) -> None:
    shutil.copy(DATA / "catalog" / "evidence" / "tf-2.15-cpu.yaml", matrices / "evidence")
    odd = envbuilder.folder / "python" / "bin" / "python3.11"
    odd.parent.mkdir(parents=True)
    odd.write_text('#!/bin/sh\ntest "$1" = -I && echo CPython x86_64 8 2.36 3.11.2\n', encoding="utf-8")
    odd.chmod(0o755)
    ended = envbuilder("catalog", "prove", "tf-2.15-cpu", "--pythons", str(envbuilder.folder / "python"))
    assert ended.status == 1
    assert "cpu: the packages cannot be installed" in ended.stdout
    assert (envbuilder.folder / "cache" / "work").is_dir()
    assert not list((envbuilder.folder / "cache" / "work").iterdir())


def test_a_pattern_without_a_match_is_told(envbuilder: CommandLine) -> None:
    ended = envbuilder("catalog", "prove", "tf-2.15-gp*")
    assert ended.status == 2
    assert "no environment matches 'tf-2.15-gp*'" in ended.stderr


@pytest.mark.parametrize("arguments", [("--tier", "documented"), ("--tier", "static"), ("--pythons", "nowhere")])
def test_a_tier_or_folder_that_is_none_is_a_usage_error(envbuilder: CommandLine, arguments: tuple[str, ...]) -> None:
    assert envbuilder("catalog", "prove", "tf-2.15-cpu", *arguments).status == 2


def test_a_bare_environment_sees_no_gpu_and_nothing_of_the_users_own_python() -> None:
    environ = {"PATH": "/bin", "LANG": "C", "PYTHONPATH": "/mine", "HOME": "/root", "CUDA_VISIBLE_DEVICES": "0"}
    assert bare_environ(environ, home=Path("/work/bin")) == {
        "PATH": "/bin",
        "LANG": "C",
        "HOME": "/work/bin",
        "CUDA_VISIBLE_DEVICES": "-1",
    }


def test_stand_ins_are_for_the_image_tier_only(envbuilder: CommandLine) -> None:
    ended = envbuilder("catalog", "prove", "tf-2.15-cpu", "--tier", "gpu", "--stand-ins")
    assert ended.status == 2
    assert "--stand-ins cannot be combined with --tier gpu" in ended.stderr
    assert "--tier image --stand-ins" in ended.stderr
