"""`docs/architecture.md` describes the tree as it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.catalogs import ROOT

PACKAGE = ROOT / "envbuilder"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
STAND_ALONE = "incontainer"


def summaries() -> dict[str, str]:
    """Return the first line of the docstring of each package, by its path below `envbuilder/`."""
    packages = sorted(file.parent for file in PACKAGE.rglob("__init__.py"))
    return {
        f"{package.relative_to(PACKAGE)}/": (ast.get_docstring(_module(package)) or "").partition("\n")[0]
        for package in packages
        if package != PACKAGE and package.relative_to(PACKAGE).parts[0] != STAND_ALONE
    }


def _module(package: Path) -> ast.Module:
    return ast.parse((package / "__init__.py").read_text(encoding="utf-8"))


def named_paths(text: str) -> Iterator[str]:
    """Return every path of the package that a text names in code spans."""
    districts = "|".join(sorted({path.split("/")[0] for path in summaries()}))
    yield from re.findall(rf"`((?:{districts}|{STAND_ALONE})/[\w/]*(?:\.py)?)`", text)


def test_the_page_lists_every_package_with_its_summary() -> None:
    listed = dict(re.findall(r"^\| `([\w/]+/)` \| (.*) \|$", PAGE, re.MULTILINE))
    assert {path: text for path, text in listed.items() if not path.startswith(STAND_ALONE)} == summaries()


@pytest.mark.parametrize("path", sorted({*named_paths(PAGE), *named_paths(GUIDE)}))
def test_every_path_that_the_page_or_the_guide_names_exists(path: str) -> None:
    assert (PACKAGE / path).exists()


def test_the_order_of_the_districts_is_the_one_that_is_enforced() -> None:
    order = re.search(r"^(cli \| api ─▶ .*)$", PAGE, re.MULTILINE)
    contract = re.search(r"^layers = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert order
    assert contract
    assert order[1].split(" ─▶ ") == re.findall(r'"([^"]+)"', contract[1])
