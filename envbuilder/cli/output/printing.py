"""Shared output functions of the commands: JSON, tables, notices."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

import click

from envbuilder.cli.output.streams import foreign
from envbuilder.cli.output.terminal import TERMINAL, ProgressForm, Verbosity, say, say_event, wrapped

F = TypeVar("F", bound=Callable[..., Any])
NARROWEST, WIDEST = 60, 120
UNLIMITED = sys.maxsize
_NARROWEST_COLUMN = 12


def json_option(command: F) -> F:
    """Add `--json`: one JSON document on standard output, also for an error."""
    return click.option(
        "as_json", "--json", is_flag=True, callback=_asked, is_eager=True, help="Print one JSON document."
    )(command)


def _asked(_context: click.Context, _option: click.Parameter, value: bool) -> bool:  # noqa: FBT001  click's signature
    TERMINAL.json_asked = value
    return value


def print_json(document: object) -> None:
    """Print a document with stable key order."""
    TERMINAL.json_printed = True
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def notice(text: str) -> None:
    """Print a message about what is being done on standard error, unless `--quiet` is given."""
    if TERMINAL.verbosity is Verbosity.QUIET:
        return
    if TERMINAL.form is ProgressForm.JSON:
        say_event("notice", message=text)
    else:
        say(click.style(wrapped(f"· {foreign(text)}"), dim=True))


def warning(text: str) -> None:
    """Print a warning on standard error."""
    if TERMINAL.form is ProgressForm.JSON:
        say_event("warning", message=text)
    else:
        say(f"{click.style('warning:', fg='yellow', bold=True)} {wrapped(foreign(text), 9)}")


class Meaning(StrEnum):
    """The meaning of a word in a table, shown by its colour."""

    GOOD = "green"
    DOUBTFUL = "yellow"
    BAD = "red"
    NEUTRAL = "cyan"


def meaning(text: str, kind: Meaning | None) -> str:
    """Return a text in the colour of its meaning; without one, as it is."""
    return click.style(text, fg=kind.value) if kind else text


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, optional: int | None = None) -> str:
    """Return left-aligned columns, two blanks apart; the last is not padded, and folded on a narrow terminal.

    Args:
        header: Titles of the columns.
        rows: Cells, with colours or without; no colours in the last column.
        optional: Number of the column that is left out on a terminal that is too narrow for all, from 0.
    """
    cells = [list(header), *map(list, rows)]
    columns = columns_or(UNLIMITED)
    if optional is not None and columns < max(map(printed, aligned(cells))):
        cells = [[*line[:optional], *line[optional + 1 :]] for line in cells]
    starts = list(aligned([*line[:-1], "|"] for line in cells))
    start = printed(starts[0]) - 1
    if columns != UNLIMITED and columns - start >= _NARROWEST_COLUMN:
        hang = "\n" + " " * start
        lasts = ["\n".join(_words(line[-1], columns - start)).replace("\n", hang) for line in cells]
    else:
        lasts = [line[-1] for line in cells]
    lines = [(first[:-1] + last).rstrip() for first, last in zip(starts, lasts, strict=True)]
    return "\n".join([heading(lines[0]), *lines[1:]])


def _words(text: str, columns: int) -> list[str]:
    """Return the lines of a cell; ids and paths are split only if they are longer than a line."""
    return textwrap.wrap(text, columns, break_on_hyphens=False) if printed(text) > columns else [text]


def printed(text: str) -> int:
    """Return the columns of a text on a terminal."""
    return len(click.unstyle(text))


def columns_or(otherwise: int) -> int:
    """Return the columns of the terminal; the given number if the output is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else otherwise


def width() -> int:
    """Return the columns of the terminal, up to a readable width; 100 if the output is not a terminal."""
    return max(NARROWEST, min(WIDEST, shutil.get_terminal_size((100, 24)).columns))


def folded(line: str, columns: int | None = None) -> str:
    """Return a line of at most `columns` columns; the rest continues below, indented by two more.

    Ids and paths are not split unless they are longer than a line.

    Args:
        line: The line.
        columns: Maximum; None for those of the terminal.

    Example:
        >>> print(folded("  one two three", columns=9))
          one two
            three
    """
    return _filled(line, columns or width(), hang="  ")


def paragraph(line: str, columns: int) -> str:
    """Return lines of at most `columns` columns, indented as the first; ids and paths are not split.

    Example:
        >>> print(paragraph("  one two three", columns=9))
          one two
          three
    """
    return _filled(line, columns, hang="")


def aligned(lines: Iterable[Sequence[str]], gap: str = "  ") -> Iterator[str]:
    """Yield left-aligned columns; the last is not padded."""
    rows = list(lines)
    widths = [max(map(printed, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield gap.join(cell + " " * (width - printed(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()


def _filled(line: str, columns: int, *, hang: str) -> str:
    indent = " " * (len(line) - len(line.lstrip()))
    fill = partial(
        textwrap.fill,
        line.strip(),
        columns,
        initial_indent=indent,
        subsequent_indent=f"{indent}{hang}",
        break_long_words=False,
    )
    whole = fill(break_on_hyphens=False)
    return whole if max(map(len, whole.split("\n"))) <= columns else fill(break_on_hyphens=True)


def heading(text: str) -> str:
    """Return a section title."""
    return click.style(text, bold=True)
