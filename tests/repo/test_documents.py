"""The documents say what the code does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuilder.cli.main import SECTIONS, STOPPED
from envbuilder.core import errors
from envbuilder.core.errors import EnvbuilderError
from tests.command_tree import commands_and_groups
from tests.fakes.catalogs import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def families() -> dict[int, set[str]]:
    """Names of error classes by exit code."""
    found: dict[int, set[str]] = {}
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, EnvbuilderError):
            found.setdefault(kind.exit_code, set()).add(kind.__name__)
    return found


def documented() -> dict[int, str]:
    """Rest of the table row in docs/exit-codes.md by exit code."""
    text = (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8")
    return {int(code): rest for code, rest in re.findall(r"^\| *`?(\d+)`? *\|(.*)$", text, re.MULTILINE)}


@pytest.mark.parametrize("name", commands_and_groups())
def test_a_command_has_the_name_that_its_group_calls_it_by(name: str) -> None:
    assert commands_and_groups()[name].name == name.rpartition(" ")[2]


@pytest.mark.parametrize("section", SECTIONS)
def test_the_readme_shows_a_command_of_every_section(section: str) -> None:
    assert any(f"envbuilder {name}" in README for name in SECTIONS[section])


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 150


@pytest.mark.parametrize("code", sorted(code for code in families() if code != EnvbuilderError.exit_code))
def test_an_exit_code_is_documented_with_its_family(code: int) -> None:
    assert any(name in documented()[code] for name in families()[code])


@pytest.mark.parametrize("code", [0, 1, *sorted(STOPPED)])
def test_the_codes_that_are_no_errors_of_ours_are_documented_too(code: int) -> None:
    assert code in documented()


def test_no_code_is_documented_that_nothing_ends_with() -> None:
    assert set(documented()) <= {0, 1, *STOPPED, *families()}


def relative_links(document: Path) -> Iterator[Path]:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
        if "://" not in target:
            yield document.parent / target


def test_every_relative_link_leads_somewhere() -> None:
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    broken = [f"{file.name} -> {link}" for file in documents for link in relative_links(file) if not link.exists()]
    assert not broken
