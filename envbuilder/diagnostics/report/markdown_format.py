"""A report as Markdown for pull requests and issue threads (GitHub and GitLab flavours)."""

from __future__ import annotations

from collections.abc import Sequence

from envbuilder.core.units import quantity
from envbuilder.diagnostics.checks.results import Failed, Passed, Report
from envbuilder.diagnostics.report.markdown_text import folded, inline_code, plain_text, table
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


def markdown_report(report: Report) -> str:
    """Return the report; foreign text cannot leave its cell, mention a user or open a tag."""
    title = f"{_SIGNS[overall(report)]} {headline(report)}"
    about = " · ".join(
        part
        for part in (inline_code(report.subject), plain_text(report.environment), quantity(report.seconds, "s"))
        if part
    )
    blocks = [
        [f"## {title}"],
        [f"{about}  ", f"**{tally(report) or 'no results'}**"],
        _failed(report),
        _not_proven(report),
        folded(f"Passed: {len(of_kind(report, OutcomeKind.PASSED))}", _passed(report)),
        folded("Figures", _figures(report)),
        folded("Facts", table(("", ""), ((plain_text(name), plain_text(value)) for name, value in report.facts))),
        _listing("Deviations", report.deviations),
        _listing(f"Tier {report.tier.value} did not prove", report.not_covered),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _failed(report: Report) -> Sequence[str]:
    rows = [
        (inline_code(result.id), plain_text(result.outcome.finding.message), plain_text(result.outcome.finding.remedy))
        for result in of_kind(report, OutcomeKind.FAILED)
        if isinstance(result.outcome, Failed)
    ]
    lines = table(("Check", "Problem", "Remedy"), rows)
    return ["### Failed", "", *lines] if lines else []


def _not_proven(report: Report) -> Sequence[str]:
    rows = [
        (
            ", ".join(inline_code(result.id) for result in results),
            plain_text(reason) + (f" (**{REQUIRED}**)" if required else ""),
        )
        for (reason, required), results in by_reason(report).items()
    ]
    lines = table(("Check", "Reason"), rows)
    return ["### Not proven", "", *lines] if lines else []


def _passed(report: Report) -> Sequence[str]:
    rows = (
        (plain_text(group), inline_code(result.id), plain_text(result.outcome.seen))
        for group, results in by_group(of_kind(report, OutcomeKind.PASSED)).items()
        for result in results
        if isinstance(result.outcome, Passed)
    )
    return table(("About", "Check", "Seen"), rows)


def _figures(report: Report) -> Sequence[str]:
    rows = (
        (plain_text(group), plain_text(figure.name), plain_text(described(figure)))
        for group, figures in figure_groups(report).items()
        for figure in figures
    )
    return table(("About", "Figure", "Value"), rows)


def _listing(heading: str, entries: tuple[str, ...]) -> Sequence[str]:
    return [f"**{heading}**", "", *(f"- {plain_text(entry)}" for entry in entries)] if entries else []
