"""Commands that the caller allowed to run without a sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.oci.runtime.command import RunResult
from envbuilder.oci.runtime.sandbox import Task
from envbuilder.oci.runtime.unconfined import Unconfined


@pytest.fixture
def here(tmp_path: Path) -> Unconfined:
    return Unconfined(work=tmp_path / "work")


def run(here: Unconfined, tmp_path: Path, script: str, *words: str) -> RunResult:
    """Run a script; the shell is one of this machine, since one of the tree would need libraries."""
    return here.run(
        Task(
            tree=tmp_path / "tree",
            command=("/mnt/sh", "-c", script, "sh", *words),
            env=(("HOME", "/tmp"), ("PATH", "")),
            mounts=(("/bin/sh", "/mnt/sh"), (str(tmp_path / "source"), "/mnt/source")),
            copy_out="/tmp/out",
        )
    )


def test_paths_of_the_sandbox_become_those_of_this_machine(here: Unconfined, tmp_path: Path) -> None:
    script = 'for word in "$@" "$HOME"; do echo "$word"; done'
    told = run(here, tmp_path, script, "/usr/lib:/lib", "/mnt/source/x", "/mnt", "-x")
    *words, home = told.stdout.decode().splitlines()
    tree = tmp_path / "tree"
    assert words == [f"{tree}/usr/lib:{tree}/lib", f"{tmp_path}/source/x", f"{tree}/mnt", "-x"]
    assert Path(home).parent == tmp_path / "work"


def test_a_file_is_given_back(here: Unconfined, tmp_path: Path) -> None:
    told = run(here, tmp_path, 'echo made > "$1"; exit 3', "/tmp/out")
    assert (told.status, told.copied) == (3, b"made\n")
    assert list((tmp_path / "work").iterdir()) == []
