"""Batch scripts: valid shell, the images that each runtime starts, and what a step runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from envbuilder.cluster.slurm.batch_scripts import Runtime, batch_scripts
from envbuilder.core.errors import UsageError
from tests.fakes.catalogs import TEMPLATES
from tests.golden.clusters import FILE, REGISTRY, folders, job

SHELL = [(folder, file) for folder, files in folders().items() for file in files if file.text.startswith("#!")]


@pytest.mark.parametrize(("folder", "file"), SHELL, ids=[f"{folder}-{file.path}" for folder, file in SHELL])
def test_every_script_is_valid_shell(folder: str, file: object) -> None:
    text = getattr(file, "text", "")
    shell = "sh" if text.startswith("#!/bin/sh") else "bash"

    checked = subprocess.run([shell, "-n"], input=text, capture_output=True, text=True, check=False)

    assert (checked.returncode, checked.stderr) == (0, ""), folder


def test_podman_starts_no_file() -> None:
    with pytest.raises(UsageError, match=r"podman does not start tf\.sqsh"):
        batch_scripts(job("tf-2.15-cuda12.2", FILE, 1), Runtime.PODMAN, "", TEMPLATES)


def test_pyxis_separates_the_registry_of_an_image() -> None:
    found = {
        file.path: file.text for file in batch_scripts(job("tf-2.15-cpu", REGISTRY, 0), Runtime.PYXIS, "", TEMPLATES)
    }

    assert f"--container-image='registry.example#team/tf@{REGISTRY.reference.digest}'" in found["job.sbatch"]
    assert "in-image" not in found


def test_a_worker_gets_its_place_among_all_workers(tmp_path: Path) -> None:
    script = next(file for file in folders()["clusters/slurm-apptainer"] if file.path == "with-tf-config")
    environment = {"ENVBUILDER_WORKERS": '"n1:20001","n2:20002"', "SLURM_PROCID": "1"}

    done = subprocess.run(
        ["sh", "-c", script.text, "sh", "sh", "-c", 'echo "$TF_CONFIG"'],
        env=environment, capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip

    assert done.stdout == ('{"cluster": {"worker": ["n1:20001","n2:20002"]}, "task": {"type": "worker", "index": 1}}\n')
