"""Options of commands that variables and the configuration file set.

Such a value counts as typed, except that the command line takes precedence.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import click

from envbuilder.cli.context import command_settings
from envbuilder.cli.global_options import GlobalOption
from envbuilder.cli.output.terminal import TERMINAL
from envbuilder.core.errors import Fault, InvalidInput, UsageError
from envbuilder.wiring.configuration import FALSE, OPTIONS_SENT, SETTINGS, TRUE, Words
from envbuilder.wiring.settings import Settings

_SETTINGS = frozenset(setting.key for setting in SETTINGS)
_VARIABLES = frozenset(setting.variable for setting in SETTINGS)
_SHOWS_VARIABLES = "config"
"""Command that lists unknown variables itself."""
_NO_VALUE = frozenset({"help", "version"})
_FLAG_WORDS = {**dict.fromkeys(TRUE, True), **dict.fromkeys(FALSE, False)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredOption:
    """A value of an option.

    Attributes:
        name: Name of the option without dashes.
        parameter: Name of the parameter for click.
        value: The same as click takes it.
        origin: The variable, or the file with the line.
    """

    command: Words
    name: str
    parameter: str
    given: object
    value: object
    origin: str


class _Invalid(Exception):
    """A value that an option does not take; the message says why."""


def defaults(name: str, command: click.Command, words: Words, known: Collection[str]) -> dict[str, object]:
    """Return the configured values of a command and of those below it, as `default_map` of click has them.

    Raises:
        InvalidInput: The configuration file is invalid, or names a command or an option that does not exist.
        UsageError: A variable has a value that its option does not take, or that its setting does not allow.
    """
    settings = command_settings()
    # Whoever prints later takes a setting that is invalid as not set.
    TERMINAL.load(settings)
    if settings.environ.get(OPTIONS_SENT):
        return {}
    refuse_unknown_commands(settings, words, known)
    if not words and name != _SHOWS_VARIABLES:
        TERMINAL.warnings += _warnings(settings, name, command, known)
    return _nested(name, command, words, settings)


def _warnings(settings: Settings, name: str, command: click.Command, known: Collection[str]) -> Iterator[str]:
    """Yield a warning for each variable with our prefix that sets nothing."""
    if not any(each.startswith("ENVBUILDER_") and each not in _VARIABLES for each in settings.environ):
        return
    from envbuilder.cli.unknown_variables import unknown_variables  # noqa: PLC0415  most environments have none

    lazy = (*((each,) for each in known if each != name), *((name, each) for each in getattr(command, "modules", ())))
    others = tuple(variable_of(words, "") for words in lazy)
    for variable, near in unknown_variables(settings.environ, frozenset(_variables(command, (name,))), others):
        hint = f"did you mean {near}?" if near else "`envbuilder config show` lists the settings"
        yield f"{variable} is ignored: there is no such setting or option; {hint}"


def _nested(name: str, command: click.Command, words: Words, settings: Settings) -> dict[str, object]:
    inner = (*words, name)
    found: dict[str, object] = {each.parameter: each.value for each in configured_options(command, inner, settings)}
    for member, below in getattr(command, "commands", {}).items():
        found[member] = _nested(member, below, inner, settings)
    return found


def _variables(command: click.Command, words: Words) -> Iterator[str]:
    """Yield the variables of the options of a command and of those below it."""
    yield from (variable_of(words, option_name(option)) for option in _configurable(command))
    for name, member in getattr(command, "commands", {}).items():
        yield from _variables(member, (*words, name))


def refuse_unknown_commands(settings: Settings, words: Words, known: Collection[str]) -> None:
    """Raise InvalidInput if the configuration file has options of a command that a group lacks."""
    configuration = settings.configuration
    faults = []
    for command, options in configuration.commands.items():
        if command[: len(words)] == words and len(command) > len(words) and command[len(words)] not in known:
            line = min(option.line for option in options.values())
            near = difflib.get_close_matches(command[len(words)], known, 1)
            hint = f"did you mean {'.'.join(('command', *words, near[0]))}?" if near else "`envbuilder --help`"
            field = ".".join(("command", *command))
            faults.append(Fault(file=configuration.file, line=line, field=field, problem="no such command", hint=hint))
    if faults:
        raise InvalidInput(tuple(faults))


def configured_options(command: click.Command, words: Words, settings: Settings) -> list[ConfiguredOption]:
    """Return the options of one command that a variable, else the configuration file sets.

    Raises:
        InvalidInput: The file has an unknown option, or a value that an option does not take; all faults are listed.
        UsageError: A variable has a value that its option does not take.
    """
    options = {option_name(option): option for option in _configurable(command)}
    found = _of_file(command, words, options, settings)
    for name, option in options.items():
        variable = variable_of(words, name)
        text = settings.environ.get(variable)
        if text:
            try:
                value = _checked(command, option, shlex.split(text) if option.multiple else text)
            except (_Invalid, ValueError) as error:
                raise UsageError(f"{variable}: {error}", hint=f"`unset {variable}`, or change it") from None
            found[name] = ConfiguredOption(
                command=words, name=name, parameter=str(option.name), given=text, value=value, origin=variable
            )
    return [found[name] for name in options if name in found]


def _of_file(
    command: click.Command, words: Words, options: Mapping[str, click.Option], settings: Settings
) -> dict[str, ConfiguredOption]:
    configuration = settings.configuration
    found: dict[str, ConfiguredOption] = {}
    faults: list[Fault] = []
    for name, given in configuration.commands.get(words, {}).items():
        problem, hint = "", ""
        if name in options:
            try:
                value = _checked(command, options[name], given.value)
                place = f"{configuration.file}:{given.line}"
                found[name] = ConfiguredOption(
                    command=words,
                    name=name,
                    parameter=str(options[name].name),
                    given=given.value,
                    value=value,
                    origin=place,
                )
                continue
            except _Invalid as error:
                problem = str(error)
        elif isinstance(command, click.Group):
            problem, hint = "no such command", "`envbuilder --help`"
        else:
            near = difflib.get_close_matches(name, options, 1)
            problem = f"`envbuilder {' '.join(words)}` has no option --{name}"
            hint = f"did you mean {near[0]}?" if near else f"`envbuilder {' '.join(words)} --help`"
            hint = f"write it outside of the table: {name} is a setting" if name in _SETTINGS else hint
        field = ".".join(("command", *words, name))
        faults.append(Fault(file=configuration.file, line=given.line, field=field, problem=problem, hint=hint))
    if faults:
        raise InvalidInput(tuple(faults))
    return found


def _configurable(command: click.Command) -> Iterator[click.Option]:
    """Yield the options with a value of their own; those of all commands are settings."""
    for option in command.params:
        if isinstance(option, click.Option) and not isinstance(option, GlobalOption) and option.name not in _NO_VALUE:
            yield option


def option_name(option: click.Option) -> str:
    """Return the longest name of an option, without dashes."""
    return max(option.opts, key=len).lstrip("-")


def variable_of(words: Words, name: str) -> str:
    """Return the variable of an option.

    Example:
        >>> variable_of(("cache", "prune"), "all")
        'ENVBUILDER_CACHE_PRUNE_ALL'
    """
    return "_".join(("envbuilder", *words, name)).upper().replace("-", "_")


def _checked(command: click.Command, option: click.Option, given: object) -> object:
    """Return a value for click, or raise `_Invalid`."""
    value = _value(option, given)
    try:
        option.type_cast_value(click.Context(command), value)
    except click.BadParameter as error:
        raise _Invalid(error.format_message().partition(": ")[2].rstrip(".")) from None
    return value


def _value(option: click.Option, given: object) -> object:
    flag = _flag(given)
    if option.is_flag:
        if flag is None:
            raise _Invalid(f"{given!r} is not true or false")
        return _of_flag(option, flag=flag)
    if isinstance(given, bool):
        if option._flag_needs_value and given:  # noqa: SLF001  an option whose value may be left out
            return option.flag_value
        raise _Invalid("must be a text in quotes, not true or false")
    if option.multiple:
        if isinstance(given, str | int):
            raise _Invalid("must be a list")
        return [str(each) for each in given] if isinstance(given, list | tuple) else given
    if isinstance(given, list | tuple):
        raise _Invalid("must be one value, not a list")
    return str(given)


def _flag(given: object) -> bool | None:
    return given if isinstance(given, bool) else _FLAG_WORDS.get(str(given).lower())


def _of_flag(option: click.Option, *, flag: bool) -> object:
    """Return the value of a flag; `--no-cache` sets its parameter to False."""
    if option.is_bool_flag:
        return flag is not (option.flag_value is False)
    return option.flag_value if flag else None
