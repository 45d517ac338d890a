"""`make demo` builds what can be built from here: with a Python of this machine, else another environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.catalogs import ROOT

DEFAULT = "tf-2.4-cuda11.0"

# Stands in for `envbuilder`: builds what stands in the file `buildable`, and packs what stands in the file `installed`;
# the rest is asked of the real one. The file `called` gets what it was asked to do.
_STAND_IN = """#!/bin/sh
case $1 in
build)
    echo "$*" >>called
    grep -qx "$2" buildable || exit 5 ;;
python)
    echo "$*" >>called
    grep -qx "$3" installed || exit 9
    echo {default} >>buildable ;;
validate)
    echo "$*" >>called ;;
*)
    exec "{program}" "$@" ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the demo script, and a stand-in that can build nothing yet."""
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/demo", tmp_path / ".ci/demo")
    (tmp_path / ".venv/bin/python").symlink_to(sys.executable)
    program = tmp_path / ".venv/bin/envbuilder"
    program.write_text(_STAND_IN.format(default=DEFAULT, program=Path(sys.executable).with_name("envbuilder")), "utf-8")
    program.chmod(0o755)
    for name in ("buildable", "installed", "called"):
        (tmp_path / name).touch()
    return tmp_path


def demo(checkout: Path, *arguments: str) -> tuple[int, list[str], str]:
    """Status, calls and output."""
    done = subprocess.run(
        [".ci/demo", *arguments], cwd=checkout, env=os.environ, capture_output=True, text=True, check=False
    )
    return done.returncode, (checkout / "called").read_text("utf-8").splitlines(), done.stdout


def test_what_can_be_built_is_built_and_validated(checkout: Path) -> None:
    (checkout / "buildable").write_text(f"{DEFAULT}\n", "utf-8")
    assert demo(checkout) == (0, [f"build {DEFAULT}", f"validate {DEFAULT}"], "")


def test_a_python_of_this_machine_is_packed_where_the_network_has_none(checkout: Path) -> None:
    (checkout / "installed").write_text("3.8\n", "utf-8")
    status, calls, _ = demo(checkout)
    assert (status, calls) == (
        0,
        [f"build {DEFAULT}", "python pack 3.8", f"build {DEFAULT}", f"validate {DEFAULT}"],
    )


def test_without_one_the_newest_environment_whose_base_has_its_python_is_built_and_that_is_said(checkout: Path) -> None:
    listed = subprocess.run([".venv/bin/envbuilder", "list"], cwd=checkout, capture_output=True, text=True, check=True)
    newest = [line.split()[0] for line in listed.stdout.splitlines() if line.startswith("tf-") and "-cuda" in line][-1]
    (checkout / "buildable").write_text(f"{newest}\n", "utf-8")
    status, calls, said = demo(checkout)
    assert (status, calls[-2:]) == (0, [f"build {newest}", f"validate {newest}"])
    assert f"demo: {DEFAULT} cannot be built from here, as said above; building {newest} instead" in said


def test_an_environment_that_was_named_is_never_replaced(checkout: Path) -> None:
    assert demo(checkout, DEFAULT)[:2] == (5, [f"build {DEFAULT}", "python pack 3.8"])


def test_where_nothing_can_be_built_the_demo_fails(checkout: Path) -> None:
    status, calls, _ = demo(checkout)
    assert status == 5
    assert not [call for call in calls if call.startswith("validate")]
