"""A group that imports a command on use: its help costs little more than importing click."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from envbuilder.cli.global_options import with_global_options
from envbuilder.core.errors import EnvbuilderError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Sections: TypeAlias = Mapping[str, Mapping[str, tuple[str, str]]]
"""Module and summary of each command by its name, by the title of its section."""


class Group(click.Group):
    """A group whose help has the whole summary of each command; click cuts it to one line."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(sys.maxsize)) for name, each in self.commands.items()])


class LazyGroup(click.Group):
    """A group whose commands are modules.

    Args:
        sections: The commands, in the order of the help.
        environments: Names of the commands whose arguments are environments.

    Attributes:
        modules: Module of each command by its name.
        words: Words in front of its commands, after `envbuilder`.
    """

    words: tuple[str, ...] = ()

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401  those of click
        sections: Sections,
        environments: Collection[str] = (),
        **settings: Any,  # noqa: ANN401  those of click
    ) -> None:
        super().__init__(*arguments, **settings)
        self._sections = sections
        self.environments = environments
        self.modules = {name: module for commands in sections.values() for name, (module, _) in commands.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """Return the names in the order of the sections."""
        return list(self.modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command."""
        if cmd_name not in self.modules:
            return None
        command: click.Command = importlib.import_module(self.modules[cmd_name]).command
        return with_global_options(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands by section without importing one."""
        widest = max(map(len, self.modules))
        for title, commands in self._sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(widest), summary) for name, (_, summary) in commands.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return commands with their summaries, and options, without importing a command."""
        # Imported for completions only.
        from click.shell_completion import CompletionItem  # noqa: PLC0415

        summaries = {name: each for commands in self._sections.values() for name, (_, each) in commands.items()}
        found = [CompletionItem(name, help=each) for name, each in summaries.items() if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest command for an unknown one."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in self.modules:
            import difflib  # noqa: PLC0415  only on this path

            near = difflib.get_close_matches(name, self.modules, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {name!r}.{hint}")
        if ctx.resilient_parsing and name in self.environments and not args[-1].startswith("-"):
            # A shell asks for completions: importing the command would take several tenths of a second.
            completion = importlib.import_module("envbuilder.cli.completion")
            return name, completion.EnvironmentWords(name, partial(self.get_command, ctx, name)), args[1:]
        if name in self.modules and not ctx.resilient_parsing:
            self._configure(ctx, name, args[1:])
        return super().resolve_command(ctx, args)

    def _configure(self, ctx: click.Context, name: str, args: list[str]) -> None:
        """Set the configured options of a command; with an invalid configuration, only help is available."""
        command = self.get_command(ctx, name)
        if isinstance(command, LazyGroup):
            command.words = (*self.words, name)
        options = importlib.import_module("envbuilder.cli.configured_options")
        try:
            found = options.defaults(name, command, self.words, self.modules)
        except EnvbuilderError:
            if not {"-h", "--help"} & set(args):
                raise
            return
        ctx.default_map = {**(ctx.default_map or {}), name: found}
