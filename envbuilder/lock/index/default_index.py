"""Default package index of uv: from its settings, or built in."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

from envbuilder.core.uv import settings_files

_DEFAULT = re.compile(r"--default-index.*?by\s+default:\s*<?(https?://[^>\s)]+)", re.DOTALL)


def configured_index(environ: Mapping[str, str], home: Path) -> tuple[str, str]:
    """Return the index that a settings file of uv names.

    Args:
        environ: `UV_CONFIG_FILE` and the directories of XDG.
        home: Home directory of the user.

    Returns:
        Address, and the file that names it; both empty if no file names one.
    """
    for file in settings_files(environ, home):
        address = _named(settings_of(file))
        if address:
            return address, str(file)
    return "", ""


def settings_of(file: Path) -> dict[str, object]:
    """Return the content of a settings file; empty when it is missing or cannot be parsed."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _named(settings: Mapping[str, object]) -> str:
    listed = settings.get("index")
    for index in listed if isinstance(listed, list) else []:
        if isinstance(index, dict) and index.get("default") is True:
            return str(index.get("url", ""))
    pip = settings.get("pip")
    nested = pip.get("index-url", "") if isinstance(pip, dict) else ""
    return str(settings.get("index-url") or nested)


def default_index(uv: Path, *, timeout: float) -> str:
    """Return the built-in index of uv, as its help states; empty if uv does not answer in time."""
    try:
        done = subprocess.run(
            [str(uv), "pip", "compile", "--help"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = _DEFAULT.search(done.stdout)
    return found[1] if found else ""
