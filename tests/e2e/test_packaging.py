"""What users install: the wheel carries the catalog and the templates, and needs nothing of this checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.fakes.catalogs import ROOT


def test_the_release_passes_its_checks_and_works_without_the_checkout(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.release", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    program = tmp_path / "venv" / "bin" / "envbuilder"
    subprocess.run([program, "init", "tf-2.15-cpu"], cwd=tmp_path, env=environ, check=True)
    assert (tmp_path / "envbuilder.yaml").is_file()
