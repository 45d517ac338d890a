"""No text tells anybody to install `envbuilder` from the package index: there it is another project."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = ("envbuilder", "docs", "matrices", "templates", "tests/golden", "README.md", "CONTRIBUTING.md", "Makefile")
INSTALLS = re.compile(r"""\b(?:(?:pip3?|pipx|uv(?:\ pip|\ tool)?)\ install|uv\ add|uvx|pipx\ run)\b
    (?:\s+-\S+)*\s+["'`]?envbuilder\b(?![./])""", re.VERBOSE)  # fmt: skip


def files() -> list[Path]:
    found = []
    for place in PLACES:
        path = ROOT / place
        found += [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    return [path for path in found if path.suffix not in {".pyc", ".gz"}]


def test_nobody_is_told_to_install_another_project() -> None:
    bad = []
    for path in files():
        text = path.read_text(encoding="utf-8", errors="replace")
        bad += [f"{path.relative_to(ROOT)}: {match[0]}" for match in INSTALLS.finditer(text)]
    assert bad == []
    assert len(files()) > 500


@pytest.mark.parametrize(
    "text",
    [
        "pip install envbuilder",
        "pip install 'envbuilder[zstd]'",
        "pip3 install -U envbuilder==0.1",
        "uv tool install envbuilder",
        "uv pip install envbuilder",
        "uvx envbuilder",
        "pipx install envbuilder",
    ],
)
def test_such_a_text_is_found(text: str) -> None:
    assert INSTALLS.search(text)


@pytest.mark.parametrize(
    "text", ["pip install .", "pip install ./envbuilder", "pip install envbuilder/", "pip install x"]
)
def test_other_commands_are_not(text: str) -> None:
    assert not INSTALLS.search(text)
