"""Markdown of generated pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

_MARKS = re.compile(r"[\\*_{}\[\]<>|`#]")
_LITERAL = re.compile(r"`([^`]+)`|(https?://[^\s,;|)]+)")
"""A code span or an address, which are kept."""
NONE = "–"  # noqa: RUF001  a dash on purpose
"""Cell of a table without a value."""
_ENTITIES = {"<": "&lt;", ">": "&gt;"}


def plain(text: str) -> str:
    r"""Return Markdown that shows a text as it is; code spans stay, and addresses become links.

    Example:
        >>> plain("numpy<2 or `__init__`, https://example.org/a_b")
        'numpy&lt;2 or `__init__`, <https://example.org/a_b>'
    """
    pieces = []
    end = 0
    for found in _LITERAL.finditer(text):
        pieces += [_escaped(text[end : found.start()]), code(found[1]) if found[1] else f"<{found[2]}>"]
        end = found.end()
    return "".join((*pieces, _escaped(text[end:])))


def code(text: str) -> str:
    """Return a code span, which may stand in a table."""
    return f"`{text}`" if "|" not in text else f"<code>{text.replace('<', '&lt;').replace('|', '&#124;')}</code>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table and an empty line; nothing if it has no rows.

    Args:
        header: Titles of the columns.
        rows: Markdown of the cells.
    """
    lines = [_row(row) for row in rows]
    if lines:
        yield _row(header)
        yield _row(["---"] * len(header))
        yield from lines
        yield ""


def console(*lines: str) -> Iterator[str]:
    """Yield a block of shell commands and an empty line."""
    yield "```sh"
    yield from lines
    yield "```"
    yield ""


def section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """Yield a section with its title; nothing if it has no lines."""
    found = list(lines)
    if found:
        yield f"## {title}"
        yield ""
        yield from found


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return _MARKS.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), text)
