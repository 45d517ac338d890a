"""Apptainer is called with a clean environment; a stand-in says how."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.core.errors import ToolFailed, ToolMissing
from envbuilder.image.running.apptainer import Apptainer, find_apptainer


def stand_in(folder: Path, script: str, name: str = "apptainer") -> Apptainer:
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    return find_apptainer(str(folder))


def test_status_and_streams_are_those_of_the_command(tmp_path: Path) -> None:
    done = stand_in(tmp_path, 'echo "$@"; echo err >&2; exit 3').run(
        Path("tf.sif"), ("/bin/cat", "x"), gpus=False, timeout=10
    )
    assert (done.status, done.stderr) == (3, b"err\n")
    assert done.stdout == b"exec --cleanenv --no-home tf.sif /bin/cat x\n"


def test_gpus_are_asked_for(tmp_path: Path) -> None:
    done = stand_in(tmp_path, 'echo "$@"').run(Path("tf.sif"), ("true",), gpus=True, timeout=10)
    assert b" --nv tf.sif" in done.stdout


def test_a_command_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    done = stand_in(tmp_path, "exec sleep 60").run(Path("tf.sif"), ("true",), gpus=False, timeout=0.5)
    assert done.timed_out


def test_singularity_does_as_well_and_nothing_is_named(tmp_path: Path) -> None:
    assert stand_in(tmp_path, "true", name="singularity").program == str(tmp_path / "singularity")
    with pytest.raises(ToolMissing, match="apptainer"):
        find_apptainer(str(tmp_path / "nowhere"))


def test_a_program_that_cannot_be_started_is_told(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="cannot be started"):
        Apptainer(program=str(tmp_path)).run(Path("tf.sif"), ("true",), gpus=False, timeout=1)
