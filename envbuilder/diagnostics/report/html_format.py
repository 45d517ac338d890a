"""A report as one HTML page: labels of figures are text, only the bars are drawn, so that they fit every width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from envbuilder.diagnostics.checks.results import Figure, Report
from envbuilder.diagnostics.report.html_page import html_page
from envbuilder.diagnostics.report.summary import (
    OutcomeKind,
    by_group,
    by_reason,
    described,
    figure_groups,
    headline,
    of_kind,
    overall,
    spread,
    tally,
)

_HEIGHT = 14
# Space at the right for the end of a whisker.
_FULL = 99.0


def html_report(report: Report) -> str:
    """Return the report as one page."""
    passed = of_kind(report, OutcomeKind.PASSED)
    return html_page(
        "envbuilder.diagnostics.report",
        "report.html.j2",
        report=report,
        kind=overall(report).value,
        headline=headline(report),
        tally=tally(report),
        pieces=tuple(_pieces(report)),
        failed=of_kind(report, OutcomeKind.FAILED),
        not_proven=len(of_kind(report, OutcomeKind.NOT_PROVEN)),
        reasons=by_reason(report),
        passed=len(passed),
        groups=by_group(passed),
        charts=[
            (group, [(figure, _bar(figure, figures)) for figure in figures])
            for group, figures in figure_groups(report).items()
        ],
        described=described,
        spread=spread,
    )


def _pieces(report: Report) -> Iterator[tuple[str, str, str]]:
    """Yield name, beginning and width of each kind of outcome in one bar."""
    start = 0.0
    for kind in OutcomeKind if report.results else ():
        share = 100 * len(of_kind(report, kind)) / len(report.results)
        if share:
            yield kind.value, f"{start:.2f}%", f"{share:.2f}%"
        start += share


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bar:
    """A value as a bar.

    Attributes:
        width: Share of the full width.
        whisker: `(x1, x2, y1, y2)` of the lines that show its spread: one with an end on each side.
    """

    width: str
    whisker: tuple[tuple[str, str, str, str], ...]


def _bar(figure: Figure, group: Sequence[Figure]) -> _Bar | None:
    """Return a figure as a bar beside those of its group; None if there is nothing to compare with."""
    scale = _scale(figure, group)
    return _Bar(width=_share(figure.value, scale), whisker=_whisker(figure, scale)) if scale else None


def _scale(figure: Figure, group: Sequence[Figure]) -> float:
    """Return the value of the full width: the largest number of this unit; 0 if there is nothing to compare with."""
    alike = [each for each in group if each.unit == figure.unit]
    if len(alike) == 1 and not spread(figure):
        return 0.0
    return max(abs(end) for each in alike for end in (each.value, each.low, each.high) if end is not None)


def _whisker(figure: Figure, scale: float) -> tuple[tuple[str, str, str, str], ...]:
    if figure.low is None and figure.high is None:
        return ()
    left = _share(figure.value if figure.low is None else figure.low, scale)
    right = _share(figure.value if figure.high is None else figure.high, scale)
    middle, top, bottom = f"{_HEIGHT / 2:g}", "3", f"{_HEIGHT - 3}"
    return ((left, right, middle, middle), (left, left, top, bottom), (right, right, top, bottom))


def _share(value: float, scale: float) -> str:
    return f"{min(max(_FULL * value / scale, 0), _FULL):.2f}%"
