"""Every command takes few values, and the help lists it in a section."""

from __future__ import annotations

import inspect

import click
import pytest

from envbuilder.cli.main import SECTIONS
from envbuilder.cli.options import grouped
from tests.command_tree import commands
from tests.unit.cli.running import CommandLine

MOST_PARAMETERS = 8


def parameters(command: click.Command) -> list[str]:
    """Names of the parameters of the function behind a command, below the decorators that group its options."""
    assert command.callback is not None
    found = inspect.signature(inspect.unwrap(command.callback)).parameters
    assert inspect.Parameter.VAR_KEYWORD not in {each.kind for each in found.values()}
    return list(found)


@pytest.mark.parametrize("name", commands())
def test_a_command_has_few_parameters(name: str) -> None:
    assert len(parameters(commands()[name])) <= MOST_PARAMETERS


def test_options_in_a_group_count_as_one_parameter_and_others_each() -> None:
    @click.command()
    @grouped("pair", lambda one, two: (one, two), click.option("--one"), click.option("--two"))
    @click.option("--three")
    def three(pair: tuple[str, str], three: str) -> None:
        """Print what was given."""
        click.echo(f"{pair} {three}")

    assert parameters(three) == ["pair", "three"]
    assert [each.name for each in three.params] == ["one", "two", "three"]


def test_the_help_lists_every_command_in_its_section(envbuilder: CommandLine) -> None:
    shown = envbuilder("--help").stdout
    for title, members in SECTIONS.items():
        assert members
        _, _, section = shown.partition(f"\n{title}:\n")
        listed = [line.split()[0] for line in section.split("\n\n")[0].splitlines() if line[2] != " "]
        assert listed == list(members)


@pytest.mark.parametrize("gone", ["check", "audit", "prove", "availability"])
def test_a_command_that_has_another_name_now_is_unknown(envbuilder: CommandLine, gone: str) -> None:
    assert envbuilder(gone).status == 2
