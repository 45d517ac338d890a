"""Figures and text of a page: labels are text, only the bars are drawn, so that they fit every width."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from envbuilder.core.plain_text import printable
from envbuilder.core.units import quantity
from envbuilder.diagnostics.checks.results import Figure, Report
from envbuilder.diagnostics.report.summary import OutcomeKind, described, figure_groups, of_kind, spread, tally


def text(value: str) -> str:
    """Return text between tags; a word in backticks becomes code.

    Example:
        >>> text("run `docker run --gpus all`, not <script>")
        'run <code>docker run --gpus all</code>, not &lt;script&gt;'
    """
    pieces = escape(printable(value)).split("`")
    if len(pieces) % 2 == 0:
        return "`".join(pieces)
    return "".join(f"<code>{piece}</code>" if number % 2 else piece for number, piece in enumerate(pieces))


def plain(value: str) -> str:
    """Return text between tags, unchanged otherwise."""
    return escape(printable(value))


def _attribute(value: str) -> str:
    """Return the value of an attribute, with its quotes."""
    return f'"{escape(printable(value))}"'


_HEIGHT = 14
# Space at the right for the end of a whisker.
_FULL = 99.0


def charts(report: Report) -> Iterator[str]:
    """Yield one card for each group of figures."""
    for group, figures in figure_groups(report).items():
        yield '<section class="card">'
        yield f"<h3>{text(group or 'Figures')}</h3>"
        yield '<div class="chart">'
        for figure in figures:
            yield from _row(figure, _scale(figure, figures))
        yield "</div>"
        yield "</section>"


def proportions(report: Report) -> str:
    """Return the outcomes as one bar; empty without results."""
    total = len(report.results)
    if not total:
        return ""
    pieces, start = [], 0.0
    for kind in OutcomeKind:
        share = 100 * len(of_kind(report, kind)) / total
        if share:
            pieces.append(f'<rect class="piece {kind.value}" x="{start:.2f}%" width="{share:.2f}%" height="8"/>')
        start += share
    return f'<svg width="100%" height="8" role="img" aria-label={_attribute(tally(report))}>{"".join(pieces)}</svg>'


def _scale(figure: Figure, group: Sequence[Figure]) -> float:
    """Return the value of the full width: the largest number of this unit; 0 if there is nothing to compare with."""
    alike = [each for each in group if each.unit == figure.unit]
    if len(alike) == 1 and not spread(figure):
        return 0.0
    return max(abs(end) for each in alike for end in (each.value, each.low, each.high) if end is not None)


def _row(figure: Figure, scale: float) -> Iterator[str]:
    yield f'<span class="text">{text(figure.name)}</span>'
    yield _bar(figure, scale) if scale else "<span></span>"
    between = spread(figure)
    note = f'<span class="spread">{text(between)}</span>' if between else ""
    yield f'<span class="value">{text(quantity(figure.value, figure.unit))}{note}</span>'


def _bar(figure: Figure, scale: float) -> str:
    label = _attribute(f"{figure.name}: {described(figure)}")
    return (
        f'<svg width="100%" height="{_HEIGHT}" role="img" aria-label={label}>'
        f'<rect class="track" width="100%" height="{_HEIGHT}" rx="3"/>'
        f'<rect class="bar" width="{_share(figure.value, scale)}" height="{_HEIGHT}" rx="3"/>'
        f"{_whisker(figure, scale)}</svg>"
    )


def _whisker(figure: Figure, scale: float) -> str:
    """Return the spread: a line with an end on each side."""
    if figure.low is None and figure.high is None:
        return ""
    left = _share(figure.value if figure.low is None else figure.low, scale)
    right = _share(figure.value if figure.high is None else figure.high, scale)
    middle = _HEIGHT / 2
    lines = ((left, right, middle, middle), (left, left, 3, _HEIGHT - 3), (right, right, 3, _HEIGHT - 3))
    return "".join(f'<line class="whisker" x1="{x1}" x2="{x2}" y1="{y1:g}" y2="{y2:g}"/>' for x1, x2, y1, y2 in lines)


def _share(value: float, scale: float) -> str:
    return f"{min(max(_FULL * value / scale, 0), _FULL):.2f}%"
