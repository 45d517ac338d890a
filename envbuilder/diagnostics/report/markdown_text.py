"""Text, code and tables in Markdown (GitHub and GitLab flavours): foreign text stays text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from envbuilder.core.plain_text import printable

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~!$])")
# GitHub and GitLab make links of `@name` and `#1` even behind a backslash, and notify the named users.
_CALLING = re.compile(r"(?<!\w)([@#])(?=\w)")
_LIST_START = re.compile(r"^(\s*)([-+]|#+|\d+[.)])(?=\s)")


def plain_text(text: str) -> str:
    r"""Plain text: shown as it is, in a table too; words in backticks stay code.

    Example:
        >>> plain_text("a|b <script> *c* by @someone; see `lib_x.so`")
        'a\\|b \\<script\\> \\*c\\* by @<!-- -->someone; see `lib_x.so`'
    """
    pieces = printable(text).strip().split("`")
    paired = len(pieces) % 2 == 1 and all(pieces[1:-1]) and not any("|" in code for code in pieces[1::2])
    if not paired:
        return _escaped("`".join(pieces))
    return "".join(f"`{piece}`" if number % 2 else _escaped(piece) for number, piece in enumerate(pieces))


def _escaped(text: str) -> str:
    escaped = _SPECIAL.sub(r"\\\1", text.replace("&", "&amp;"))
    return _CALLING.sub(r"\1<!-- -->", _LIST_START.sub(r"\1\\\2", escaped))


def inline_code(text: str) -> str:
    """Return code, which cannot contain a backtick or, in a table, a bar."""
    clean = printable(text).strip()
    return plain_text(clean) if not clean or "`" in clean or "|" in clean else f"`{clean}`"


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Sequence[str]:
    """Return the lines of a table; empty without rows."""
    lines = [_row(row) for row in rows]
    return [_row(header), _row(("---",) * len(header)), *lines] if lines else []


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def folded(summary: str, lines: Sequence[str]) -> Sequence[str]:
    """Return lines behind a summary that opens them; empty without lines."""
    return ["<details>", f"<summary>{summary}</summary>", "", *lines, "", "</details>"] if lines else []
