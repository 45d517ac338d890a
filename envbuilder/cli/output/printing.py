"""Shared output functions of the commands: JSON, tables, notices."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from envbuilder.cli.output.folding import filled
from envbuilder.cli.output.streams import foreign
from envbuilder.cli.output.terminal import TERMINAL, Meaning, ProgressForm, Verbosity, say, say_event, wrapped
from envbuilder.core.files import replacing

NARROWEST, WIDEST = 40, 120
UNLIMITED = sys.maxsize
_USUAL = 80
"""Columns of a usual terminal, for which tables are made."""
_INDENT = 4
_WORD = re.compile(r"""(?:[^\s'"\\]|'[^']*'|"(?:[^"\\]|\\.)*"|\\.)+""")
"""A word of a shell, with its quotes."""
_TIED = "\xa0"
"""A blank at which no line is broken: between a title and its cell."""
_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")
"""Between two columns."""
_MOST_BEFORE_LAST_COLUMN = 0.4
"""Part of a line: text in what is left for the last column would be hard to read."""


def _asked(_context: click.Context, _option: click.Parameter, value: bool) -> bool:  # noqa: FBT001  click's signature
    TERMINAL.json_asked = value
    return value


json_option = click.option(
    "as_json", "--json", is_flag=True, callback=_asked, is_eager=True, help="Print one JSON document."
)
"""The result is one JSON document on standard output, also for an error."""


output_option = click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write. Default: standard output."
)


def write_or_print(content: bytes, file: Path | None) -> Path | None:
    """Write a file and say so, or print its content; return the file."""
    if file is None:
        click.echo(content, nl=False)
        return None
    with replacing(file) as stream:
        stream.write(content)
    click.echo(f"wrote {file}")
    return file


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
        if TERMINAL.display is not None:
            TERMINAL.display.between_steps(text)


def warning(text: str) -> None:
    """Print a warning on standard error."""
    if TERMINAL.form is ProgressForm.JSON:
        say_event("warning", message=text)
    else:
        say(f"{click.style('warning:', fg=Meaning.DOUBTFUL, bold=True)} {wrapped(foreign(text), 9)}")


def meaning(text: str, kind: Meaning | None) -> str:
    """Return a text in the colour of its meaning; without one, as it is."""
    return click.style(text, fg=kind) if kind else text


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, optional: int | None = None) -> str:
    """Return left-aligned columns, two blanks apart; the last is not padded, and folded on a narrow terminal.

    A cell of the last column with a word that is too long for it has the next line for itself. On a terminal of less
    than 80 columns that is too narrow for the others, each row is a paragraph of titles and cells.

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
    if start > columns and columns < _USUAL:
        return "\n".join(_stacked(cells[0], line, columns) for line in cells[1:])
    lasts = [cells[0][-1], *(_last(line[-1], columns, start) for line in cells[1:])]
    lines = [_joined(first[:-1], last) for first, last in zip(starts, lasts, strict=True)]
    return "\n".join([heading(lines[0]), *lines[1:]])


def _stacked(header: Sequence[str], cells: Sequence[str], columns: int) -> str:
    """Return a row as a paragraph: its first cell, and below it the others, each after its title."""
    indent = " " * _INDENT
    named = [
        f"{title.strip()}{_TIED}{cell.strip()}"
        for title, cell in zip(header[1:], cells[1:], strict=True)
        if cell.strip()
    ]
    first = heading(cells[0].strip()) if cells[0].strip() else ""
    below = filled(", ".join(each.strip(_TIED) for each in named), columns, first=indent, rest=indent)
    return "\n".join(filter(None, (first, below.replace(_TIED, " "))))


def _joined(first: str, last: str) -> str:
    return f"{first.rstrip()}{last}" if last.startswith("\n") else f"{first}{last}".rstrip()


def _last(text: str, columns: int, start: int) -> str:
    """Return the lines of a cell in the last column, which begins at a column of the terminal."""
    if printed(text) <= columns - start:
        return text
    has_room = max(map(printed, text.split())) <= columns - start
    indent = " " * (start if has_room else _INDENT)
    return ("" if has_room else f"\n{indent}") + filled(text, columns - len(indent)).replace("\n", f"\n{indent}")


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

    The rest of a line with columns, which are two blanks or more apart, continues below the last one if there is room.
    Ids, paths and commands in backticks are not split unless they are longer than a line.

    Args:
        line: The line.
        columns: Maximum; None for those of the terminal.

    Example:
        >>> print(folded("  one two three", columns=9))
          one two
            three
        >>> print(folded("  a  one two", columns=10))
          a  one
             two
    """
    most = columns or width()
    gaps = list(_GAP.finditer(click.unstyle(line).strip()))
    if gaps and gaps[-1].end() <= _MOST_BEFORE_LAST_COLUMN * most:
        indent = " " * (len(line) - len(line.lstrip()))
        below = filled(line.strip(), most, first=indent, rest=indent + " " * gaps[-1].end())
        if max(map(printed, below.split("\n"))) <= most:
            return below
    return _filled(line, most, hang="  ")


def shell_lines(command: str, columns: int, *, first: str = "") -> Iterator[str]:
    r"""Yield a line of shell as lines of at most `columns` columns, which can be copied together.

    A line that cannot be broken between words, such as one with a word that is longer, stays whole.

    Args:
        command: The line of shell.
        columns: Maximum.
        first: What stands before the first line; the others are indented by four more.

    Example:
        >>> print(*shell_lines("run --name 'a b' --now", 14, first="  "), sep="\n")
          run --name \
              'a b' \
              --now
    """
    rest = " " * (printed(first) + 4)
    words = _WORD.findall(command)
    is_short = printed(first) + printed(command) <= columns
    has_room = all(printed(rest) + printed(word) + 2 <= columns for word in words)
    if is_short or not has_room or " ".join(words) != command:
        yield first + command
        return
    line = first + words[0]
    for number, word in enumerate(words[1:], 2):
        # All lines but the last end with a blank and a backslash.
        room = columns - (0 if number == len(words) else 2)
        if printed(line) + 1 + printed(word) > room:
            yield f"{line} \\"
            line = rest + word
        else:
            line = f"{line} {word}"
    yield line


def paragraph(line: str, columns: int) -> str:
    """Return lines of at most `columns` columns, indented as the first; ids and paths are not split.

    Example:
        >>> print(paragraph("  one two three", columns=9))
          one two
          three
    """
    return _filled(line, columns, hang="")


def aligned(lines: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield left-aligned columns; the last is not padded."""
    rows = list(lines)
    widths = [max(map(printed, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell + " " * (width - printed(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()


def _filled(line: str, columns: int, *, hang: str) -> str:
    indent = " " * (len(line) - len(line.lstrip()))
    whole = filled(line.strip(), columns, first=indent, rest=f"{indent}{hang}")
    if max(map(printed, whole.split("\n"))) <= columns:
        return whole
    return filled(line.strip(), columns, first=indent, rest=f"{indent}{hang}", hyphens=True)


def heading(text: str) -> str:
    """Return a section title."""
    return click.style(text, bold=True)


def section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield a blank line, the title and the lines of a section; nothing if it has no lines."""
    if found := list(lines):
        yield from ("", heading(title), *found)
