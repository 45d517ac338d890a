"""Parse the configuration file of a user, with the line of every fault."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from envbuilder.core.errors import Fault, InvalidInput
from envbuilder.wiring.configuration import SETTINGS, Configuration, Given, Option, SettingKind, Words

COMMANDS = "command"
"""Table of the options of commands."""
_Table: TypeAlias = Mapping[str, object]
_BY_KEY = {setting.key: setting for setting in SETTINGS}
_NO_OPTION = "not the value of an option"
_QUOTE = (
    "write it as [command.NAME] OPTION = VALUE, with a text in quotes, a whole number, true, false, or a list of them"
)


def parse(text: str, path: Path) -> Configuration:
    """Parse a configuration file.

    Raises:
        InvalidInput: It is not TOML, has unknown keys, or values of another kind; all faults are listed. The options of
            commands are only checked for values that no option has.
    """
    file = str(path)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(
            (Fault(file=file, line=_line_of_error(error, text), field="", problem=f"not TOML: {error}"),)
        ) from None
    lines = _Lines(text)
    faults: list[Fault] = []
    settings: dict[str, Given] = {}
    for key, value in content.items():
        if key == COMMANDS:
            continue
        line = lines.of((key,))
        problem, hint = _problem(key, value)
        if problem:
            faults.append(Fault(file=file, line=line, field=key, problem=problem, hint=hint))
        else:
            settings[key] = Given(words=_words(value), origin=f"{file}:{line}", folder=path.parent)
    commands: dict[Words, dict[str, Option]] = {}
    for words, value in _leaves(content.get(COMMANDS, {}), ()):
        line = lines.of((COMMANDS, *words))
        if len(words) < 2 or not _is_option(value):
            name = ".".join((COMMANDS, *words))
            faults.append(Fault(file=file, line=line, field=name, problem=_NO_OPTION, hint=_QUOTE))
        else:
            *command, option = words
            kept = tuple(value) if isinstance(value, list) else value
            commands.setdefault(tuple(command), {})[option] = Option(value=kept, line=line)  # type: ignore[arg-type]
    if faults:
        raise InvalidInput(tuple(faults))
    return Configuration(file=file, settings=settings, commands=commands)


def _problem(key: str, value: object) -> tuple[str, str]:
    """Return the problem of a setting, and a hint; both empty if it is valid."""
    setting = _BY_KEY.get(key)
    if setting is None:
        near = difflib.get_close_matches(key, (*_BY_KEY, COMMANDS), 1)
        return "unknown setting", f"did you mean {near[0]}?" if near else "`envbuilder config show` lists all settings"
    if not _has_kind(setting.kind, value):
        return f"must be {setting.kind.value}", ""
    return setting.problem(_words(value)), ""


def _has_kind(kind: SettingKind, value: object) -> bool:
    match kind:
        case SettingKind.TEXT | SettingKind.PATH:
            return isinstance(value, str) and bool(value)
        case SettingKind.FLAG:
            return isinstance(value, bool)
        case SettingKind.WORDS:
            return isinstance(value, list) and all(isinstance(each, str) and each for each in value)


def _words(value: object) -> tuple[str, ...]:
    if isinstance(value, bool):
        return ("true" if value else "false",)
    return tuple(value) if isinstance(value, list) else (str(value),)


def _leaves(value: object, words: Words) -> Iterator[tuple[Words, object]]:
    """Yield everything that is not a table, with the keys that lead to it."""
    if not isinstance(value, dict):
        yield words, value
        return
    for key, each in value.items():
        yield from _leaves(each, (*words, key))


def _is_option(value: object) -> bool:
    each = value if isinstance(value, list) else [value]
    return all(isinstance(item, str | int) for item in each)


class _Lines:
    r"""The lines of keys, which Python's TOML parser does not report.

    Example:
        >>> lines = _Lines('a = 1\n\n[b]\nc = [\n  2,\n]\n')
        >>> lines.of(("a",)), lines.of(("b", "c"))
        (1, 4)
    """

    def __init__(self, text: str) -> None:
        self._statements = list(_statements(text))

    def of(self, keys: Words) -> int:
        """Return the line where a key begins; 0 if the document lacks it."""
        return next((line for line, content in self._statements if _has(content, keys)), 0)


def _statements(text: str) -> Iterator[tuple[int, _Table]]:
    """Yield the first line and the content of each statement: the least number of lines that is a document.

    Every statement is read behind the header of its table.
    """
    header = statement = ""
    start = 1
    for number, line in enumerate(text.split("\n"), 1):
        statement += f"{line}\n"
        try:
            content = tomllib.loads(header + statement)
        except tomllib.TOMLDecodeError:
            continue
        yield start, content
        header = statement if statement.lstrip().startswith("[") else header
        statement = ""
        start = number + 1


def _has(content: object, keys: Words) -> bool:
    for key in keys:
        if not isinstance(content, dict) or key not in content:
            return False
        content = content[key]
    return True


def _line_of_error(error: tomllib.TOMLDecodeError, text: str) -> int:
    """Return the line that a message names; the last one for a document that ends too early."""
    named = re.search(r"at line (\d+)", str(error))
    return int(named[1]) if named else len(text.splitlines())
