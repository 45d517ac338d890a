"""Environments with the TensorFlow of a row, outside of any image."""

from __future__ import annotations

import subprocess
from pathlib import Path

from envbuilder.image.base.uv_tool import find_uv
from envbuilder.lock.resolve.shipped_closures import load_closures
from tests.interpreters.interpreters import interpreters

_LOCKS = Path(__file__).parents[2] / "matrices" / "locks"


def environment(row: str, folder: Path) -> Path:
    """A virtual environment with exactly the packages that a row ships with; gives its interpreter."""
    closure = load_closures((_LOCKS / f"{row}.yaml").read_text(encoding="utf-8"), row, row)[0]
    uv, venv = str(find_uv()), folder / "venv"
    subprocess.run([uv, "venv", "-q", "--python", interpreter(str(closure.python)), str(venv)], check=True)
    python = venv / "bin" / "python"
    pins = [f"{each.name}=={each.version}" for each in closure.packages]
    subprocess.run([uv, "pip", "install", "-q", "--no-deps", "--python", str(python), *pins], check=True)
    return python


def interpreter(version: str) -> str:
    """Return the path of an interpreter of pyenv; the version itself where there is none, for uv to find or fetch."""
    found = [path for path in interpreters() if path.parent.parent.name.startswith(f"{version}.")]
    return str(found[-1]) if found else version
