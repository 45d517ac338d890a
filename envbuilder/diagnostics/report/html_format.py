"""A report as one HTML page: without external resources and scripts, for light, dark and print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envbuilder.core.units import quantity
from envbuilder.diagnostics.checks.results import Failed, Passed, Report
from envbuilder.diagnostics.report.html_figures import charts, plain, proportions, text
from envbuilder.diagnostics.report.html_page import html_page
from envbuilder.diagnostics.report.summary import (
    OutcomeKind,
    by_group,
    by_reason,
    headline,
    of_kind,
    overall,
    tally,
)

_FOOTER = "Written by envbuilder. Not proven means that a check could not run; it never counts as passed."


def html_report(report: Report) -> str:
    """Return the report as one page."""
    body = (
        *_header(report),
        "<main>",
        *_failed(report),
        *_not_proven(report),
        *_passed(report),
        *_section("Figures", ['<div class="charts">', *charts(report), "</div>"] if report.figures else []),
        *_section("Facts", _facts(report.facts)),
        *_section("Deviations", _listing(report.deviations)),
        *_section(f"Tier {report.tier.value} did not prove", _listing(report.not_covered)),
        "</main>",
        f"<footer><p>{_FOOTER}</p></footer>",
    )
    return html_page(f"{headline(report)}: {report.subject}", body)


def _header(report: Report) -> Iterator[str]:
    kind = overall(report)
    required = f", tier {report.required.value} required" if report.required else ""
    yield "<header>"
    yield f'<p class="kind">{plain(report.environment)}</p>'
    yield f"<h1>{plain(report.subject)}</h1>"
    yield f'<div class="card verdict {kind.value}">'
    yield f"<b>{plain(headline(report))}</b>"
    yield f"<p>{plain(tally(report) or 'no results')}"
    yield f'<span class="soft"> · {plain(quantity(report.seconds, "s"))}{required}</span></p>'
    yield proportions(report)
    yield "</div>"
    yield "</header>"


def _failed(report: Report) -> Iterator[str]:
    results = of_kind(report, OutcomeKind.FAILED)
    yield from _counted(OutcomeKind.FAILED, len(results))
    for result in results:
        if isinstance(result.outcome, Failed):
            yield '<article class="card failed">'
            yield f'<h3>{text(result.title)}<code class="id">{plain(result.id)}</code></h3>'
            yield f'<p class="text">{text(result.outcome.finding.message)}</p>'
            yield f'<div class="remedy text"><b>Remedy</b>{text(result.outcome.finding.remedy)}</div>'
            yield "</article>"


def _not_proven(report: Report) -> Iterator[str]:
    reasons = by_reason(report)
    if not reasons:
        return
    yield from _counted(OutcomeKind.NOT_PROVEN, len(of_kind(report, OutcomeKind.NOT_PROVEN)))
    yield '<div class="card rows">'
    for (reason, required), results in reasons.items():
        kind = OutcomeKind.FAILED if required else OutcomeKind.NOT_PROVEN
        badge = '<span class="badge">required</span>' if required else ""
        yield f'<div class="row {kind.value}">'
        yield f'<p class="text">{text(reason)}{badge}</p>'
        yield f'<p class="ids">{" ".join(f"<code>{plain(result.id)}</code>" for result in results)}</p>'
        yield "</div>"
    yield "</div>"


def _passed(report: Report) -> Iterator[str]:
    results = of_kind(report, OutcomeKind.PASSED)
    if not results:
        return
    yield from _counted(OutcomeKind.PASSED, len(results))
    yield '<div class="card long">'
    yield "<table>"
    for group, members in by_group(results).items():
        yield "<tbody>"
        if group:
            yield f'<tr><th colspan="3" scope="rowgroup">{text(group)}</th></tr>'
        for result in members:
            seen = result.outcome.seen if isinstance(result.outcome, Passed) else ""
            time = "" if result.seconds is None else _time(result.seconds)
            yield f"<tr><td><code>{plain(result.id)}</code></td><td>{text(seen)}</td>"
            yield f'<td class="time">{plain(time)}</td></tr>'
        yield "</tbody>"
    yield "</table>"
    yield "</div>"


def _time(seconds: float) -> str:
    """Return a time such as `7.04 s`; the probe writes milliseconds, so shorter times are left out."""
    return "< 1 ms" if seconds < 1e-3 else quantity(seconds, "s")


def _facts(facts: Iterable[tuple[str, str]]) -> list[str]:
    entries = [f"<dt>{plain(name)}</dt><dd>{text(value)}</dd>" for name, value in facts]
    return ['<dl class="card">', *entries, "</dl>"] if entries else []


def _listing(entries: tuple[str, ...]) -> list[str]:
    items = [f"<li>{text(entry)}</li>" for entry in entries]
    return ['<div class="card">', "<ul>", *items, "</ul>", "</div>"] if items else []


def _counted(kind: OutcomeKind, count: int) -> Iterator[str]:
    if count:
        yield f'<h2>{kind.heading} <span class="count">{count}</span></h2>'


def _section(heading: str, lines: list[str]) -> Iterator[str]:
    if lines:
        yield f"<h2>{plain(heading)}</h2>"
        yield from lines
