"""Every command of envbuilder, found by walking its groups."""

from __future__ import annotations

import click

from envbuilder.cli.main import cli


def root_context() -> click.Context:
    """Return a context for commands; a command keeps the names of its option `--help` from its first context."""
    return click.Context(cli, info_name="envbuilder", **cli.context_settings)


def commands_and_groups(group: click.Group = cli, words: tuple[str, ...] = ()) -> dict[str, click.Command]:
    """Return commands and groups by their words, such as `cache` and `cache list`, in the order of the help."""
    context = click.Context(group, parent=root_context())
    found: dict[str, click.Command] = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found[" ".join((*words, name))] = command
        if isinstance(command, click.Group):
            found |= commands_and_groups(command, (*words, name))
    return found


def commands() -> dict[str, click.Command]:
    """Return every command by its words; groups are left out."""
    return {name: each for name, each in commands_and_groups().items() if not isinstance(each, click.Group)}


def command_of(words: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the name of the command that some words call, and the words after it.

    Raises:
        StopIteration: The words name no command.
    """
    names = (" ".join(words[:2]), words[0])
    known = commands()
    return next((name, words[len(name.split()) :]) for name in names if name in known)


def options(command: click.Command) -> set[str]:
    """Return the spellings of all options of a command."""
    return {
        name for each in command.params if isinstance(each, click.Option) for name in (*each.opts, *each.secondary_opts)
    }
