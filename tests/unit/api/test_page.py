"""The examples of docs/api.md run, and name what there is."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path

import pytest

from envbuilder import api
from tests.fakes.catalogs import ROOT

PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")


def blocks(language: str) -> str:
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


def test_the_examples_give_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENVBUILDER_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    examples = doctest.DocTestParser().get_doctest(blocks("pycon"), {}, "docs/api.md", "docs/api.md", 0)
    assert len(examples.examples) > 8
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_the_example_that_needs_an_engine_uses_names_that_exist() -> None:
    tree = ast.parse(blocks("python"))
    named = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "api"
    }
    assert named == {"lock", "write_lock", "build", "validate", "Tier", "Failed"}
    assert named <= set(api.__all__)
