"""A report for terminals: failures first, parts that were not covered last."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from envbuilder.core.plain_text import printable
from envbuilder.core.units import quantity
from envbuilder.diagnostics.checks.results import CheckResult, Failed, Passed, Report
from envbuilder.diagnostics.report.summary import (
    OutcomeKind,
    by_group,
    by_reason,
    described,
    figure_groups,
    of_kind,
    overall,
    verdict,
)

WIDTH = 100
REQUIRED = "required, so it counts as failed"
_COLUMN = 28
_LEAST = 20
"""Columns for a value beside its name; with fewer, it stands below."""
_MOST_PARTS, _FIRST_PARTS = 8, 6
_BOLD, _FAINT = "1", "2"
_MARKS = {OutcomeKind.FAILED: "✗", OutcomeKind.NOT_PROVEN: "?", OutcomeKind.PASSED: "✓"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Colors:
    """Colours of a report, as numbers among the 256 of terminals.

    Attributes:
        kinds: For each kind of outcome.
        remedy: For remedies.
    """

    kinds: Mapping[OutcomeKind, int]
    remedy: int


def text_report(report: Report, *, colors: Colors | None = None, columns: int = WIDTH) -> str:
    """Return the report, grouped by outcome: failures, not proven, passed; then parts that were not covered.

    Only ids and paths may be longer than `columns`.
    """
    pen = _Pen(colors=colors, columns=columns)
    lines = [
        *_wrapped(
            f"{report.subject} ({report.environment})" if report.environment else report.subject, "", pen, code=_BOLD
        ),
        *_columns(report.facts, "  ", pen),
        *_failed(report, pen),
        *_not_proven(report, pen),
        *_passed(report, pen),
        *_figures(report, pen),
        *_listing("Deviations", report.deviations, pen),
        "",
        *_wrapped(f"{verdict(report)} ({quantity(report.seconds, 's')})", "", pen, code=pen.of_kind(overall(report))),
        *_listing(f"Tier {report.tier.value} did not prove", report.not_covered, pen),
    ]
    return "\n".join(lines) + "\n"


class _Pen:
    """Colours, or none, and the columns of a line."""

    def __init__(self, *, colors: Colors | None, columns: int) -> None:
        self._colors = colors
        self.columns = columns

    def paint(self, text: str, code: str) -> str:
        """Return the text in a colour, which is reset at its end."""
        return f"\x1b[{code}m{text}\x1b[0m" if self._colors and code and text else text

    def of_kind(self, kind: OutcomeKind) -> str:
        """Return the parameters of the control sequence for a kind of outcome; empty without colours."""
        return f"38;5;{self._colors.kinds[kind]};1" if self._colors else ""

    def of_remedy(self) -> str:
        """Return the parameters of the control sequence for remedies; empty without colours."""
        return f"38;5;{self._colors.remedy}" if self._colors else ""


def _failed(report: Report, pen: _Pen) -> Iterator[str]:
    results = of_kind(report, OutcomeKind.FAILED)
    yield from _heading(OutcomeKind.FAILED, results, pen)
    for result in results:
        if isinstance(result.outcome, Failed):
            yield from _wrapped(result.id, "  ", pen, code=_BOLD)
            yield from _wrapped(_shortened(result.outcome.finding.message), "    ", pen)
            yield from _wrapped(f"Remedy: {result.outcome.finding.remedy}", "    ", pen, code=pen.of_remedy())


def _shortened(message: str) -> str:
    """Return a message with the first ones of many parts, such as of all packages that differ."""
    parts = message.split("; ")
    if len(parts) <= _MOST_PARTS:
        return message
    return f"{'; '.join(parts[:_FIRST_PARTS])}; and {len(parts) - _FIRST_PARTS} more, which --json shows"


def _not_proven(report: Report, pen: _Pen) -> Iterator[str]:
    yield from _heading(OutcomeKind.NOT_PROVEN, of_kind(report, OutcomeKind.NOT_PROVEN), pen)
    for (reason, required), results in by_reason(report).items():
        if required:
            yield from _wrapped(f"{reason} ({REQUIRED})", "  ", pen, code=pen.of_kind(OutcomeKind.FAILED))
        else:
            yield from _wrapped(reason, "  ", pen)
        yield from _wrapped(", ".join(result.id for result in results), "    ", pen, code=_FAINT, hang="")


def _passed(report: Report, pen: _Pen) -> Iterator[str]:
    results = of_kind(report, OutcomeKind.PASSED)
    yield from _heading(OutcomeKind.PASSED, results, pen)
    width = max((len(printable(result.id)) for result in results), default=0)
    for group, members in by_group(results).items():
        if group:
            yield from _wrapped(group, "  ", pen, code=_BOLD)
        yield from _columns(
            [(result.id, result.outcome.seen) for result in members if isinstance(result.outcome, Passed)],
            "    " if group else "  ",
            pen,
            width=width,
        )


def _figures(report: Report, pen: _Pen) -> Iterator[str]:
    groups = figure_groups(report)
    if not groups:
        return
    yield ""
    yield pen.paint("Figures", _BOLD)
    for group, figures in groups.items():
        # A number and its unit stay on one line.
        listing = ", ".join(f"{figure.name} {described(figure)}".replace(" ", "\xa0") for figure in figures)
        yield from _wrapped(f"{group}: {listing}" if group else listing, "  ", pen)


def _heading(kind: OutcomeKind, results: Sequence[CheckResult], pen: _Pen) -> Iterator[str]:
    if results:
        yield ""
        yield pen.paint(f"{_MARKS[kind]} {kind.heading}: {len(results)}", pen.of_kind(kind))


def _listing(heading: str, entries: tuple[str, ...], pen: _Pen) -> Iterator[str]:
    if not entries:
        return
    yield ""
    yield pen.paint(heading, _BOLD)
    for entry in entries:
        yield from _wrapped(f"- {entry}", "  ", pen)


def _columns(lines: Iterable[tuple[str, str]], indent: str, pen: _Pen, *, width: int = 0) -> Iterator[str]:
    """Yield names and values below each other; a value that is too long continues below, or stands there."""
    clean = [(printable(name), printable(value)) for name, value in lines]
    width = min(width or max((len(name) for name, _ in clean), default=0), _COLUMN)
    for name, value in clean:
        start = f"{indent}{name:<{width}}  "
        shown = f"{start}{value}".rstrip()
        room = pen.columns - len(start)
        if room < _LEAST:
            yield pen.paint(f"{indent}{name}", _FAINT)
            yield from _wrapped(value, f"{indent}  ", pen, hang="")
            continue
        first, *rest = textwrap.wrap(value, room, break_on_hyphens=False, break_long_words=False) or [""]
        yield pen.paint(shown[: len(start)], _FAINT) + first
        yield from (" " * len(start) + line for line in rest)


def _wrapped(text: str, indent: str, pen: _Pen, *, code: str = "", hang: str = "  ") -> list[str]:
    # Ids and paths are not split: a copied half is of no use.
    lines = textwrap.wrap(
        printable(text),
        pen.columns,
        initial_indent=indent,
        subsequent_indent=f"{indent}{hang}",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [pen.paint(line, code) for line in lines]
