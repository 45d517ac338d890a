"""`envbuilder cluster`: files, refusals, and what is printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.golden.products import cpu_lock
from tests.unit.cli.running import CommandLine

IMAGE = "registry.example/team/tf@sha256:" + "a" * 64


@pytest.fixture
def lock(envbuilder: CommandLine) -> str:
    (envbuilder.folder / "cpu.lock").write_text(cpu_lock(), encoding="utf-8")
    return "cpu.lock"


def test_batch_scripts_of_a_lock_are_written_once(envbuilder: CommandLine, lock: str) -> None:
    arguments = ("cluster", "slurm", lock, "--image", IMAGE, "-o", "job")

    done = envbuilder(*arguments)

    assert (done.status, "next: `sbatch job/job.sbatch PROGRAM.py`" in done.stdout) == (0, True)
    assert "tf-2.15-cpu runs on x86_64 nodes with AVX" in done.stdout
    assert (envbuilder.folder / "job" / "in-image").stat().st_mode & 0o111

    again = envbuilder(*arguments)
    assert (again.status, "already" in again.stderr) == (2, True)
    assert envbuilder(*arguments, "--force").status == 0


@pytest.mark.parametrize(
    ("kind", "file"),
    [("kubernetes", "job.yaml"), ("apptainer", "run.sh"), ("admission", "admission.yaml")],
)
def test_each_kind_lists_its_files_as_json(envbuilder: CommandLine, lock: str, kind: str, file: str) -> None:
    done = envbuilder("cluster", kind, lock, "--image", IMAGE, "-o", "job", "--json")
    written = json.loads(done.stdout)

    assert file in written["files"]
    assert set(written["files"]) == {path.name for path in (envbuilder.folder / "job").iterdir()}
    assert written["nodes"]["environment"] == "tf-2.15-cpu"


def test_features_of_the_cluster_become_a_constraint(envbuilder: CommandLine) -> None:
    (envbuilder.folder / "features").write_text("cc80,driver550.54.14\ncc80,driver470.57.02\n", encoding="utf-8")
    arguments = ("cluster", "slurm", "tf-2.15-cuda12.2", "--image", IMAGE, "-o", "job", "--features", "features")

    assert envbuilder(*arguments).status == 0
    script = (envbuilder.folder / "job" / "job.sbatch").read_text(encoding="utf-8")
    assert '#SBATCH --constraint="(cc80&driver550.54.14)"\n' in script


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("slurm", "cpu.lock", "--image", "registry.example/team/tf:1"), "has no digest"),
        (("slurm", "cpu.lock", "--image", IMAGE, "--gpus", "1"), "does not use GPUs"),
        (("kubernetes", "cpu.lock", "--image", "image.sqsh"), "images of registries only"),
        (("apptainer", "cpu.lock", "--image", IMAGE, "--workers", "2"), "needs a scheduler"),
        (("slurm", "missing.lock", "--image", IMAGE), "missing.lock"),
    ],
)
def test_what_does_not_fit_is_refused(
    envbuilder: CommandLine, lock: str, arguments: tuple[str, ...], problem: str
) -> None:
    assert lock
    Path(envbuilder.folder, "image.sqsh").write_bytes(b"image")

    done = envbuilder("cluster", *arguments, "-o", "job")

    assert (done.status, problem in done.stderr) == (2, True)
    assert not (envbuilder.folder / "job").exists()
