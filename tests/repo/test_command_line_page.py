"""docs/cli.md names exactly the options that the commands have, and examples in the documents use no others."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

import click
import pytest

from tests.command_tree import command_of, commands, options
from tests.fakes.catalogs import ROOT

PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OPTION = re.compile(r"(?<![\w-])(--?[a-z][a-z-]*)")
FENCE = re.compile(r"^```[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A line of a document that calls envbuilder.

    Attributes:
        document: Name of the file.
        words: The words after `envbuilder`, up to a pipe, a redirection or a comment.
    """

    document: str
    words: tuple[str, ...]


COMMANDS = commands()


def section(name_of_command: str) -> str:
    """Return the part of docs/cli.md about a command; `cache list` may be in a section `cache list|prune`."""
    verb, _, name = name_of_command.partition(" ")
    for found in re.finditer(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL):
        title = found[1].split()
        if title[0] == verb and (not name or name in title[1].split("|")):
            return found[2]
    return ""


def shared() -> set[str]:
    """Return the options in the part of docs/cli.md before the first command."""
    return set(OPTION.findall(PAGE.split("\n## ")[0]))


def examples() -> Iterator[Example]:
    """Return the calls in all blocks of all documents."""
    for document in DOCUMENTS:
        for block in FENCE.findall(document.read_text(encoding="utf-8")):
            for line in re.findall(r"(?:^|\| |\$ )envbuilder (.*)", block, re.MULTILINE):
                yield Example(document=document.name, words=tuple(words(line)))


def words(line: str) -> Iterator[str]:
    """Return the words of a shell command up to its first operator."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return itertools.takewhile(lambda word: not set(word) <= set("();<>|&"), lexer)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_a_section_in_the_page(name: str) -> None:
    assert section(name)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_of_a_command_is_in_the_page(name: str) -> None:
    told = set(OPTION.findall(section(name))) | shared()

    each = [option for option in COMMANDS[name].params if isinstance(option, click.Option)]
    assert not [option.name for option in each if told.isdisjoint((*option.opts, *option.secondary_opts))]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_table_of_a_command_names_no_option_that_it_lacks(name: str) -> None:
    first_columns = re.findall(r"^\|([^|]*)\|", section(name), re.MULTILINE)
    spelled = {each for column in first_columns for each in re.findall(r"`(--?[a-z][a-z-]*)", column)}
    of_siblings = {each for other in COMMANDS if section(other) == section(name) for each in options(COMMANDS[other])}

    assert spelled <= of_siblings


def test_the_examples_are_found() -> None:
    assert {"README.md", "cli.md", "training-errors.md"} <= {each.document for each in examples()}


@pytest.mark.parametrize("example", list(examples()), ids=lambda each: f"{each.document}: {' '.join(each.words)}"[:80])
def test_an_example_uses_a_command_and_options_that_exist(example: Example) -> None:
    if example.words[0].startswith("[") or example.words == ("--help",):
        return
    name, rest = command_of(example.words)
    own = rest[: rest.index("--")] if "--" in rest else rest

    assert {word.split("=")[0] for word in own if re.match(r"--?[a-z]", word)} <= options(COMMANDS[name]) | {"--help"}
