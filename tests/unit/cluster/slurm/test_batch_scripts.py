"""Batch scripts: valid shell, the images that each runtime starts, and what a step runs."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from envbuilder.cluster.jobs import FileImage, ImageFormat
from envbuilder.cluster.slurm.batch_scripts import Runtime, batch_scripts, launcher
from envbuilder.core.errors import UsageError
from envbuilder.image.dockerfile.build_context import TextFile
from tests.fakes.catalogs import TEMPLATES
from tests.golden.clusters import FILE, REGISTRY, folders, job

SHELL = [(folder, file) for folder, files in folders().items() for file in files if file.text.startswith("#!")]


@pytest.mark.parametrize(("folder", "file"), SHELL, ids=[f"{folder}-{file.path}" for folder, file in SHELL])
def test_every_script_is_valid_shell(folder: str, file: TextFile) -> None:
    text = file.text
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


APPTAINER = """#!/bin/sh
printf '%s\\n' "$@"
env | grep '^APPTAINERENV_' | sort
"""


def in_image(folder: Path, image: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command by the rendered script, with a program in place of Apptainer that prints what it gets."""
    programs, files, work = folder / "bin", folder / "files", folder / "work"
    for each in (programs, files, work):
        each.mkdir(exist_ok=True)
    (programs / "apptainer").write_text(APPTAINER, encoding="utf-8")
    (programs / "apptainer").chmod(0o755)
    known = FileImage(path=image, sha256=hashlib.sha256(b"image").hexdigest(), format=ImageFormat.SQUASHFS)
    (script,) = launcher(job("tf-2.15-cuda12.2", known, 1), Runtime.APPTAINER, TEMPLATES)
    (files / "in-image").write_text(script.text, encoding="utf-8")
    variables = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "ENVBUILDER_NODE_CACHE": str(folder / "cache"),
        **variables,
    }
    command = ["bash", str(files / "in-image"), "python", "a b.py"]
    return subprocess.run(command, cwd=work, env=variables, capture_output=True, text=True, check=False)


def test_the_image_runs_from_one_copy_on_the_node(tmp_path: Path) -> None:
    image = tmp_path / "shared image.sqsh"
    image.write_bytes(b"image")
    first = in_image(tmp_path, image)
    image.unlink()
    second = in_image(tmp_path, image)

    assert (first.returncode, first.stderr) == (second.returncode, second.stderr) == (0, "")
    (copy,) = (tmp_path / "cache").glob("*.sqsh")
    words = second.stdout.splitlines()
    assert words[0] == "exec"
    assert words[words.index(str(copy)) :][:3] == [str(copy), "python", "a b.py"]
    assert {"--nv", "--cleanenv", str(tmp_path / "work")} <= set(words)


def test_only_variables_of_the_job_reach_the_image(tmp_path: Path) -> None:
    image = tmp_path / "image.sqsh"
    image.write_bytes(b"image")
    done = in_image(tmp_path, image, PYTHONPATH="/module", LD_LIBRARY_PATH="", TF_CONFIG="{}", SLURM_PROCID="1")

    passed = [line.partition("=")[0] for line in done.stdout.splitlines() if line.startswith("APPTAINERENV_")]
    assert passed == ["APPTAINERENV_ENVBUILDER_NODE_CACHE", "APPTAINERENV_SLURM_PROCID", "APPTAINERENV_TF_CONFIG"]


def test_an_exchanged_image_is_not_started(tmp_path: Path) -> None:
    image = tmp_path / "image.sqsh"
    image.write_bytes(b"another image")
    done = in_image(tmp_path, image)

    assert (done.returncode, done.stdout) == (1, "")
    assert f"{image} is not the image that these files were written for" in done.stderr
    assert not list((tmp_path / "cache").glob("*.sqsh*part"))
