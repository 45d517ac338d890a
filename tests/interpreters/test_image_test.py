"""The test of an image by its own probe, in the oldest and the newest Python, with a program in place of the probe."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.interpreters.interpreters import interpreters

SOURCE = (Path(__file__).parents[2] / "envbuilder" / "incontainer" / "image_test.py").read_text(encoding="utf-8")
PYTHONS = tuple(dict.fromkeys((interpreters()[0], interpreters()[-1])))
pytestmark = pytest.mark.parametrize("python", PYTHONS, ids=[path.parent.parent.name for path in PYTHONS])

GOOD = {
    "tensorflow-import": {"ok": True, "value": {"version": "2.15.1", "path": "/opt/venv/lib/tensorflow"}},
    "tensorflow-training": {"ok": True, "value": {"fell": True, "first": 3.5, "last": 0.1}},
    "tensorflow-saving": {"ok": True, "value": [{"format": "h5", "equal": True}]},
}


def tried(python: Path, folder: Path, facts: Mapping[str, object], status: int = 0) -> tuple[int, str]:
    """Exit status and output of the test for facts that the probe gives."""
    probe, labels = folder / "probe.py", folder / "labels.json"
    document = json.dumps({"schema": 1, "facts": facts})
    probe.write_text(f"import sys\nsys.stdout.write({document!r})\nsys.exit({status})\n")
    labels.write_text(json.dumps({"org.opencontainers.image.version": "2.15.1"}))
    source = SOURCE.replace("/opt/envbuilder/probe.py", str(probe)).replace("/.singularity.d/labels.json", str(labels))
    done = subprocess.run([python, "-"], input=source, capture_output=True, check=False, text=True)
    return done.returncode, done.stdout + done.stderr


def test_an_image_that_trains_passes(python: Path, tmp_path: Path) -> None:
    status, said = tried(python, tmp_path, GOOD)
    assert (status, said.count("passed")) == (0, 3), said
    assert "not looked at: GPUs" in said


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"tensorflow-import": {"ok": False, "error": {"message": "No module named x"}}}, "No module named x"),
        ({"tensorflow-import": {"ok": True, "value": {"version": "2.4.0", "path": "/opt/venv/x"}}}, "version 2.4.0"),
        ({"tensorflow-import": {"ok": True, "value": {"version": "2.15.1", "path": "/home/me"}}}, "not in the image"),
        ({"tensorflow-training": {"ok": True, "value": {"fell": False, "first": 1, "last": 2}}}, "from 1 to 2"),
        ({"tensorflow-training": {}}, "FAILED  tensorflow-training"),
        ({"tensorflow-saving": {"ok": True, "value": []}}, "nothing was saved"),
        ({"tensorflow-saving": {"ok": True, "value": [{"format": "h5", "equal": False}]}}, "not equal: h5"),
        ({"tensorflow-saving": None}, "not looked at"),
    ],
    ids=["import", "release", "host", "training", "malformed", "nothing-saved", "saved-wrong", "missing"],
)
def test_a_fault_is_named_and_fails(python: Path, tmp_path: Path, changed: dict[str, object], said: str) -> None:
    status, output = tried(python, tmp_path, GOOD | changed)
    assert status == 1, output
    assert said in output


def test_a_probe_that_fails_is_a_failure(python: Path, tmp_path: Path) -> None:
    status, said = tried(python, tmp_path, GOOD, status=3)
    assert status == 1
    assert "the probe ended with status 3" in said
