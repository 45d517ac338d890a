"""The wheel that users install: it carries the catalog and the templates, and needs nothing of this checkout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def _run(*command: str | Path, folder: Path) -> str:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(list(map(str, command)), cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_works_without_the_checkout(tmp_path: Path) -> None:
    # The build backend is one of the pinned development dependencies.
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path)
    _run(sys.executable, "-m", "pip", "wheel", *options, ROOT, folder=tmp_path)
    wheel = next(tmp_path.glob("envbuilder-*.whl"))
    names = set(zipfile.ZipFile(wheel).namelist())
    for source, target in (("templates", "*.j2"), ("matrices", "**/*.yaml")):
        expected = {f"envbuilder/_data/{path.relative_to(ROOT)}" for path in (ROOT / source).glob(target)}
        assert expected
        assert expected <= names
    assert not {name for name in names if name.startswith(("tests/", "docs/"))}

    venv.create(tmp_path / "venv", with_pip=True)
    program = tmp_path / "venv" / "bin" / "envbuilder"
    _run(tmp_path / "venv" / "bin" / "pip", "install", "--quiet", wheel, folder=tmp_path)
    listed = json.loads(_run(program, "list", "--json", folder=tmp_path))
    assert len(listed["environments"]) == len(list((ROOT / "matrices" / "environments").glob("*.yaml")))
    _run(program, "init", listed["environments"][0]["id"], folder=tmp_path)
    assert (tmp_path / "envbuilder.yaml").is_file()
