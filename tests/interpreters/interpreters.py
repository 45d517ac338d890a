"""Interpreters of this machine that the probe is tried with."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path


def interpreters() -> tuple[Path, ...]:
    """One of every pyenv version, oldest first; the running one where pyenv is not installed."""
    pyenv = shutil.which("pyenv")
    if pyenv is None:
        return (Path(sys.executable),)
    root = subprocess.run([pyenv, "root"], capture_output=True, text=True, check=True).stdout.strip()
    found = [path for path in Path(root, "versions").glob("*/bin/python") if _number(path) >= (2, 7)]
    return tuple(sorted(found, key=_number)) or (Path(sys.executable),)


def _number(path: Path) -> tuple[int, ...]:
    parts = path.parent.parent.name.split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else (0,)
