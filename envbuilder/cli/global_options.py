"""Options that every command takes, before or after its name."""

from __future__ import annotations

from typing import TypeVar

import click

from envbuilder.cli.output.terminal import TERMINAL, Color, ProgressForm, Verbosity

C = TypeVar("C", bound=click.Command)


class GlobalOption(click.Option):
    """An option that every command takes; only the help of `envbuilder` lists it, and shells complete it everywhere."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return its lines in the help of `envbuilder`; None for those of its commands."""
        return super().get_help_record(ctx) if ctx.parent is None else None


def _typed(context: click.Context, option: click.Parameter, value: str | None) -> None:
    """Keep the value of an option; a later one on the command line takes precedence."""
    if context.resilient_parsing:
        return
    if value:
        TERMINAL.typed[str(option.name)] = value
        if value == Verbosity.VERBOSE:
            _print_requests()
    elif TERMINAL.warnings and not isinstance(context.command, click.Group):
        # click processes the options that were typed before the others.
        _print_warnings()


def _print_warnings() -> None:
    """Print the warnings about the environment of the process, once."""
    from envbuilder.cli.output.printing import warning  # noqa: PLC0415  most commands have none to print

    while TERMINAL.warnings:
        warning(TERMINAL.warnings.pop(0))


def _print_requests() -> None:
    from envbuilder.cli.output.request_lines import print_requests  # noqa: PLC0415  it imports logging

    print_requests()


def _apply(context: click.Context, option: click.Parameter, value: str | None) -> None:
    """Keep `--color`; for the command itself, let click use colours accordingly, and follow requests."""
    _typed(context, option, value)
    if context.resilient_parsing or isinstance(context.command, click.Group):
        return
    context.color = TERMINAL.color
    if TERMINAL.verbosity is Verbosity.VERBOSE:
        _print_requests()


def _options() -> list[click.Parameter]:
    return [
        GlobalOption(
            ["-q", "--quiet", "verbosity"],
            flag_value=Verbosity.QUIET.value,
            expose_value=False,
            callback=_typed,
            help="Print no progress and no notices; warnings and errors remain.",
        ),
        GlobalOption(
            ["-v", "--verbose", "verbosity"],
            flag_value=Verbosity.VERBOSE.value,
            expose_value=False,
            callback=_typed,
            help="Also print the output of steps, and each request to a server.",
        ),
        GlobalOption(
            ["--progress"],
            type=click.Choice([each.value for each in ProgressForm]),
            expose_value=False,
            callback=_typed,
            help="auto: redraw on a terminal. plain: one line for each step. json: one JSON object on each line.",
        ),
        GlobalOption(
            ["--color"],
            type=click.Choice([each.value for each in Color]),
            expose_value=False,
            callback=_apply,
            help="auto: colours on terminals, unless NO_COLOR is set.",
        ),
    ]


def with_global_options(command: C) -> C:
    """Add the options to a command, and to the commands of a group; a command that has them stays as it is."""
    if not any(isinstance(each, GlobalOption) for each in command.params):
        command.params += _options()
    for member in getattr(command, "commands", {}).values():
        with_global_options(member)
    return command
