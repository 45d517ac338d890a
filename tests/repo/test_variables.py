"""Every variable with our prefix is a setting, an option, or on the list of those that others read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from envbuilder.cli.configured_options import option_name, variable_of
from envbuilder.cli.unknown_variables import OTHER_VARIABLES
from envbuilder.wiring.configuration import SETTINGS
from tests.command_tree import commands

ROOT = Path(__file__).parents[2]
FOLDERS = (
    ".ci",
    ".github",
    "envbuilder",
    "templates",
    "tests/contract",
    "tests/e2e",
    "tests/fuzz",
    "tests/interpreters",
)
_VARIABLE = re.compile(r"(?<![A-Z_])ENVBUILDER_[A-Z0-9_]*[A-Z0-9]")
MISSPELLED = {"ENVBUILDER_CAHCE"}
"""Examples of names that set nothing."""


def _files() -> Iterator[Path]:
    yield ROOT / "Makefile"
    for folder in FOLDERS:
        yield from (
            file for file in (ROOT / folder).rglob("*") if file.is_file() and file.suffix not in {".pyc", ".gz"}
        )


def test_every_variable_that_is_read_or_set_is_known() -> None:
    options = {
        variable_of(tuple(name.split()), option_name(option))
        for name, command in commands().items()
        for option in command.params
        if isinstance(option, click.Option)
    }
    known = {setting.variable for setting in SETTINGS} | OTHER_VARIABLES | options | MISSPELLED
    found = {
        (name, str(file.relative_to(ROOT)))
        for file in _files()
        for name in _VARIABLE.findall(file.read_text(encoding="utf-8", errors="replace"))
    }
    assert {name for name, _ in found} & OTHER_VARIABLES == OTHER_VARIABLES
    assert not [(name, file) for name, file in sorted(found) if name not in known]
