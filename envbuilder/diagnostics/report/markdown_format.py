"""A report as Markdown for pull requests and issue threads (GitHub and GitLab flavours)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from envbuilder.core.plain_text import printable
from envbuilder.core.units import quantity
from envbuilder.diagnostics.checks.results import Failed, Passed, Report
from envbuilder.diagnostics.report.summary import (
    OutcomeKind,
    by_group,
    by_reason,
    described,
    figure_groups,
    headline,
    of_kind,
    overall,
    tally,
)
from envbuilder.diagnostics.report.text_format import REQUIRED

_SIGNS = {OutcomeKind.FAILED: "❌", OutcomeKind.NOT_PROVEN: "⚠️", OutcomeKind.PASSED: "✅"}
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~!$])")
# GitHub and GitLab make links of `@name` and `#1` even behind a backslash, and notify the named users.
_CALLING = re.compile(r"(?<!\w)([@#])(?=\w)")
_LIST_START = re.compile(r"^(\s*)([-+]|#+|\d+[.)])(?=\s)")


def markdown_report(report: Report) -> str:
    """Return the report; foreign text cannot leave its cell, mention a user or open a tag."""
    title = f"{_SIGNS[overall(report)]} {headline(report)}"
    about = " · ".join(
        part for part in (_code(report.subject), _text(report.environment), quantity(report.seconds, "s")) if part
    )
    blocks = [
        [f"## {title}"],
        [f"{about}  ", f"**{tally(report) or 'no results'}**"],
        _failed(report),
        _not_proven(report),
        _folded(f"Passed: {len(of_kind(report, OutcomeKind.PASSED))}", _passed(report)),
        _folded("Figures", _figures(report)),
        _folded("Facts", _table(("", ""), ((_text(name), _text(value)) for name, value in report.facts))),
        _listing("Deviations", report.deviations),
        _listing(f"Tier {report.tier.value} did not prove", report.not_covered),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _failed(report: Report) -> Sequence[str]:
    rows = [
        (_code(result.id), _text(result.outcome.finding.message), _text(result.outcome.finding.remedy))
        for result in of_kind(report, OutcomeKind.FAILED)
        if isinstance(result.outcome, Failed)
    ]
    table = _table(("Check", "Problem", "Remedy"), rows)
    return ["### Failed", "", *table] if table else []


def _not_proven(report: Report) -> Sequence[str]:
    rows = [
        (", ".join(_code(result.id) for result in results), _text(reason) + (f" (**{REQUIRED}**)" if required else ""))
        for (reason, required), results in by_reason(report).items()
    ]
    table = _table(("Check", "Reason"), rows)
    return ["### Not proven", "", *table] if table else []


def _passed(report: Report) -> Sequence[str]:
    rows = (
        (_text(group), _code(result.id), _text(result.outcome.seen))
        for group, results in by_group(of_kind(report, OutcomeKind.PASSED)).items()
        for result in results
        if isinstance(result.outcome, Passed)
    )
    return _table(("About", "Check", "Seen"), rows)


def _figures(report: Report) -> Sequence[str]:
    rows = (
        (_text(group), _text(figure.name), _text(described(figure)))
        for group, figures in figure_groups(report).items()
        for figure in figures
    )
    return _table(("About", "Figure", "Value"), rows)


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Sequence[str]:
    """Return the lines of a table; empty without rows."""
    lines = [_row(row) for row in rows]
    return [_row(header), _row(("---",) * len(header)), *lines] if lines else []


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def _folded(summary: str, lines: Sequence[str]) -> Sequence[str]:
    return ["<details>", f"<summary>{summary}</summary>", "", *lines, "", "</details>"] if lines else []


def _listing(heading: str, entries: tuple[str, ...]) -> Sequence[str]:
    return [f"**{heading}**", "", *_entries(entries)] if entries else []


def _entries(entries: tuple[str, ...]) -> Iterator[str]:
    for entry in entries:
        yield f"- {_text(entry)}"


def _text(text: str) -> str:
    r"""Plain text: shown as it is, in a table too; words in backticks stay code.

    Example:
        >>> _text("a|b <script> *c* by @someone; see `lib_x.so`")
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


def _code(text: str) -> str:
    """Return code, which cannot contain a backtick or, in a table, a bar."""
    clean = printable(text).strip()
    return _text(clean) if not clean or "`" in clean or "|" in clean else f"`{clean}`"
