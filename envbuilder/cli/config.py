"""`envbuilder config`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import click

from envbuilder.cli.configured_options import (
    ConfiguredOption,
    configured_options,
    refuse_unknown_commands,
    variable_of,
)
from envbuilder.cli.context import command_settings
from envbuilder.cli.groups import Group
from envbuilder.cli.output.printing import heading, json_option, print_json, table
from envbuilder.cli.unknown_variables import unknown_variables
from envbuilder.core.errors import without_logins
from envbuilder.wiring.configuration import CACHE, INDEX, MATRICES, SETTINGS, Setting, SettingKind, Words
from envbuilder.wiring.settings import Settings, configuration_file

_DEFAULT = "default"


@click.group("config", cls=Group)
def command() -> None:
    """Show the settings of this user and their origins."""


@command.command("show")
@json_option
@click.pass_context
def show(context: click.Context, *, as_json: bool) -> None:
    """Show every setting and configured option with its origin.

    The origin is a variable, a line of the configuration file, or the default. All values of the file are checked.
    """
    here = command_settings()
    root = context.find_root()
    options = list(_options(root.command, (), root, here)) if isinstance(root.command, click.Group) else []
    unused = _unused(options, here)
    if as_json:
        print_json(
            {
                "schema": 1,
                "file": str(_path(here)),
                "exists": bool(here.configuration.file),
                "settings": [_setting_document(here, each) for each in SETTINGS],
                "options": [_option_document(each) for each in options],
                "unused_variables": list(unused),
            }
        )
        return
    state = "" if here.configuration.file else " (does not exist)"
    click.echo(f"{heading('file')}  {_path(here)}{state}\n")
    click.echo(table(("SETTING", "VALUE", "ORIGIN"), [_row(here, each) for each in SETTINGS]))
    if options:
        rows = [(" ".join(each.command), f"--{each.name}", _shown(each.given), each.origin) for each in options]
        click.echo("\n" + table(("COMMAND", "OPTION", "VALUE", "ORIGIN"), rows))
    for name, near in unused.items():
        hint = f"; did you mean {near}?" if near else ""
        click.echo(f"\n{name} is set, but there is no such setting or option{hint}")


def _path(here: Settings) -> str:
    return here.configuration.file or str(configuration_file(here.environ, here.home))


def _options(group: click.Group, words: Words, context: click.Context, here: Settings) -> Iterator[ConfiguredOption]:
    """Yield the configured options of the commands of a group.

    Only commands that a table of the file or a variable may mean are imported: all of them take seconds.
    """
    names = group.list_commands(context)
    refuse_unknown_commands(here, words, names)
    for name in names:
        inner = (*words, name)
        is_meant = any(table[: len(inner)] == inner for table in here.configuration.commands) or any(
            variable.startswith(variable_of(inner, "")) for variable in here.environ
        )
        found = group.get_command(context, name) if is_meant else None
        if isinstance(found, click.Group):
            yield from _options(found, inner, context, here)
        elif found is not None:
            yield from configured_options(found, inner, here)


def _unused(options: Iterable[ConfiguredOption], here: Settings) -> dict[str, str]:
    """Return variables that look like ours and set nothing, each with the nearest one that sets something."""
    return dict(unknown_variables(here.environ, {variable_of(each.command, each.name) for each in options}))


def _row(here: Settings, setting: Setting) -> tuple[str, str, str]:
    given = here.given(setting)
    if setting == INDEX and here.index:
        return setting.key, without_logins(here.index), here.index_origin
    if given is None:
        return setting.key, _default(here, setting), _DEFAULT
    return setting.key, without_logins(" ".join(given.words)), given.origin


def _default(here: Settings, setting: Setting) -> str:
    if setting == CACHE:
        return str(here.cache_path)
    if setting == MATRICES:
        return str(here.matrices)
    if setting.kind is SettingKind.FLAG:
        return "false"
    return setting.default or "-"


def _setting_document(here: Settings, setting: Setting) -> Mapping[str, object]:
    _, value, origin = _row(here, setting)
    given = here.given(setting)
    words: object = value
    if setting.kind is SettingKind.WORDS:
        words = [without_logins(word) for word in given.words] if given else []
    elif setting.kind is SettingKind.FLAG:
        words = bool(given and given.is_true)
    elif value == "-":
        words = None
    return {"key": setting.key, "variable": setting.variable, "value": words, "origin": origin}


def _option_document(each: ConfiguredOption) -> Mapping[str, object]:
    return {
        "command": " ".join(each.command),
        "option": f"--{each.name}",
        "variable": variable_of(each.command, each.name),
        "value": _shown(each.given),
        "origin": each.origin,
    }


def _shown(value: object) -> str:
    words = value if isinstance(value, tuple) else (value,)
    return without_logins(" ".join(str(word).lower() if isinstance(word, bool) else str(word) for word in words))
