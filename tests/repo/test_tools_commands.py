"""The maintainers' tools call commands and options of envbuilder that exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.command_tree import command_of, commands, options
from tests.fakes.catalogs import ROOT
from tools.bench.catalog import STARTED

TOOLS = sorted((ROOT / "tools").rglob("*.py"))
COMMANDS = commands()


def calls() -> Iterator[tuple[str, ...]]:
    """Return the words after the program in each list of a tool that starts with it, without computed words."""
    yield from STARTED
    for path in TOOLS:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.List) and (after := _after_program(node.elts)):
                yield after


def _after_program(elements: list[ast.expr]) -> tuple[str, ...]:
    names = [ast.unparse(each).strip("_'") for each in elements]
    if "ENVBUILDER" not in names[:1] and names[1:3] != ["-m", "envbuilder"] and names[2:4] != ["-m", "envbuilder"]:
        return ()
    first = 1 if names[0] == "ENVBUILDER" else names.index("envbuilder") + 1
    words = elements[first:]
    if not words or not isinstance(words[0], ast.Constant):
        return ()
    return tuple(str(each.value) for each in words if isinstance(each, ast.Constant))


def test_the_calls_are_found() -> None:
    assert {("lock",), ("list",), ("base", "bootstrap", "bookworm")} <= set(calls())


@pytest.mark.parametrize("words", sorted(set(calls())), ids=" ".join)
def test_a_tool_calls_a_command_and_options_that_exist(words: tuple[str, ...]) -> None:
    if words[0].startswith("-"):
        return
    name, rest = command_of(words)

    assert {word for word in rest if re.match(r"--?[a-z]", word)} <= options(COMMANDS[name]) | {"--help"}
