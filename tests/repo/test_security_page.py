"""Each line of SECURITY.md names a test, and that test exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.fakes.catalogs import ROOT

PAGE = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
SECTION = re.compile(r"^## (.*?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
PARTIES = (
    *("Package index", "Debian archive", "Registry", "Spec and lock", "Bundle", "Packages and archives"),
    *("Code of packages", "Image"),
    *("This host, and its secrets", "Logs and facts", "The tool itself"),
)


def sections() -> dict[str, list[str]]:
    """Return the rows of the table of each section, without its head."""
    return {
        title: [line for line in text.splitlines() if line.startswith("|")][2:] for title, text in SECTION.findall(PAGE)
    }


ROWS = [row for rows in sections().values() for row in rows]


def test_every_party_has_its_lines() -> None:
    assert [party for party in PARTIES if not sections().get(party)] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip()[:60])
def test_a_line_names_a_test_that_exists(row: str) -> None:
    (file, name), *others = TEST.findall(row)
    assert not others
    assert name in names_in(ROOT / file)


def names_in(file: Path) -> set[str]:
    """Return the names of the functions that pytest collects from a file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
