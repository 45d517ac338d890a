"""What the verbs share when they print: JSON, tables, notices."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from envbuilder.cli.output.streams import foreign

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """`--json`: one JSON document on standard output."""
    return click.option("as_json", "--json", is_flag=True, help="Print one JSON document.")(command)


def print_json(document: object) -> None:
    """Print a document with stable key order."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def notice(text: str) -> None:
    """Say on standard error what is being done."""
    click.echo(click.style(f"· {foreign(text)}", dim=True), err=True)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Left-aligned columns, two blanks apart; the last is not padded."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]

    def joined(line: Sequence[str]) -> str:
        cells = [cell.ljust(width) for cell, width in zip(line[:-1], widths, strict=False)]
        return "  ".join([*cells, line[-1]]).rstrip()

    first, *rest = lines
    return "\n".join([click.style(joined(first), bold=True), *(joined(line) for line in rest)])


def folded(line: str, width: int = 100) -> str:
    """A line of at most `width` columns; what does not fit goes on below, indented by two more.

    Example:
        >>> print(folded("  one two three", width=9))
          one two
            three
    """
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.fill(
        line.strip(), width, initial_indent=indent, subsequent_indent=f"{indent}  ", break_long_words=False
    )


def heading(text: str) -> str:
    """A section title."""
    return click.style(text, bold=True)


def size(count: int) -> str:
    """Bytes for people, in powers of 1000.

    Example:
        >>> size(1_234_567_890), size(900)
        ('1.23 GB', '900 B')
    """
    value, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{count} B" if unit == "B" else f"{value:.3g} {unit}"
