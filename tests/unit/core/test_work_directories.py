"""Directories of dead workers are removed, those of running commands are not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from envbuilder.core.work_directories import WorkDirectory, remove_abandoned, work_directory

_LONG_AGO = (0, 0)
_HOLD = """
import os, sys, time
from envbuilder.core.work_directories import WorkDirectory
made = WorkDirectory("command")
print(made.path, flush=True)
time.sleep(600)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_the_directory_of_a_killed_worker_is_removed_later(place: Path) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-c", _HOLD], stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(place)}, text=True
    )
    with worker:
        assert worker.stdout is not None
        left = Path(worker.stdout.readline().strip())
        (left / "stdout").write_text("half", encoding="utf-8")
        os.utime(left, _LONG_AGO)
        remove_abandoned()
        assert left.is_dir(), "it is in use"
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    remove_abandoned()
    assert not left.exists()


def test_a_command_that_outlives_its_worker_keeps_its_directory(place: Path) -> None:
    made = WorkDirectory("command")
    assert made.path.parent == place
    command = subprocess.Popen(["sleep", "600"], pass_fds=(made.descriptor,))
    with command:
        os.close(made.descriptor)
        os.utime(made.path, _LONG_AGO)
        remove_abandoned()
        assert made.path.is_dir()
        command.kill()
    remove_abandoned()
    assert not made.path.exists()


def test_new_directories_links_and_those_of_others_stay(place: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    target = tmp_path_factory.mktemp("target")
    os.utime(target, _LONG_AGO)
    (place / "envbuilder-command-link").symlink_to(target)
    (place / "envbuilder-command-new").mkdir()
    (place / "other").mkdir()
    os.utime(place / "other", _LONG_AGO)
    remove_abandoned()
    left = {path.name for path in place.iterdir()}
    assert left == {"envbuilder-command-link", "envbuilder-command-new", "other"}
    assert target.is_dir()


def test_a_directory_for_a_block_is_removed_and_removes_abandoned_ones(place: Path) -> None:
    left = place / "envbuilder-resolve-left"
    left.mkdir()
    os.utime(left, _LONG_AGO)
    with work_directory("resolve") as folder:
        (folder / "x").touch()
        assert not left.exists()
    assert not list(place.iterdir())
