"""Hosts of a virtual network reach each other and nothing else, as root and as nobody."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.conftest import REQUIRED
from tests.contract.reaching import reach
from tests.contract.trees import NOBODY, PYTHON, busybox_tree

_SEEN = ["from host 1", "10.83.0.2 dev worker1 scope link  src 10.83.0.1 ", "2"]


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A directory that everybody may enter, which those of pytest are not."""
    with tempfile.TemporaryDirectory(prefix="envbuilder-networks-") as folder:
        Path(folder).chmod(0o755)
        busybox_tree(Path(folder, "tree"))
        Path(folder, "work").mkdir()
        Path(folder, "work").chmod(0o777)
        yield Path(folder)


@pytest.mark.parametrize("name", ["", "runc", "namespaces"])
def test_hosts_of_a_network_reach_each_other(place: Path, name: str) -> None:
    if name == "runc" and (os.geteuid() != 0 or not shutil.which("runc", path="/usr/sbin:/usr/bin")):
        (pytest.fail if REQUIRED else pytest.skip)("runc joins a network as root only, and must be installed")
    assert reach(place / "tree", place / "work", name) == _SEEN


@pytest.mark.skipif(os.geteuid() != 0, reason="the tests run as an ordinary user: the test before this one is the same")
def test_an_ordinary_user_makes_such_a_network_too(place: Path) -> None:
    if not PYTHON:
        (pytest.fail if REQUIRED else pytest.skip)("no Python that nobody may start")
    command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", PYTHON]
    done = subprocess.run(
        [*command, "-m", "tests.contract.reaching", str(place / "tree"), str(place / "work")],
        capture_output=True, text=True, check=False, cwd="/",
        env={"PATH": os.defpath, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == _SEEN
