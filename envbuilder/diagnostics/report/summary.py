"""Summary of a report: how each result counts, how results are grouped, and figures in words."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import assert_never

from envbuilder.core.units import quantity
from envbuilder.diagnostics.checks.results import CheckResult, Failed, Figure, NotProven, Passed, Report


class OutcomeKind(StrEnum):
    """The name of a result's kind in a report."""

    FAILED = "failed"
    NOT_PROVEN = "not-proven"
    PASSED = "passed"

    @property
    def heading(self) -> str:
        """The name in plain words, with a capital."""
        return self.value.replace("-", " ").capitalize()


def outcome_kind(result: CheckResult) -> OutcomeKind:
    """Return the kind of an outcome."""
    match result.outcome:
        case Failed():
            return OutcomeKind.FAILED
        case NotProven():
            return OutcomeKind.NOT_PROVEN
        case Passed():
            return OutcomeKind.PASSED
        case other:
            assert_never(other)


def of_kind(report: Report, wanted: OutcomeKind) -> tuple[CheckResult, ...]:
    """Return the results of one kind, in the report's order."""
    return tuple(result for result in report.results if outcome_kind(result) is wanted)


def overall(report: Report) -> OutcomeKind:
    """Return the kind of the report itself: not proven if nothing passed and nothing failed."""
    if report.passed:
        return OutcomeKind.PASSED
    return OutcomeKind.FAILED if report.failed else OutcomeKind.NOT_PROVEN


def tally(report: Report) -> str:
    """Return the counts, such as `1 failed, 2 not proven (1 required), 13 passed`; empty without results."""
    required = len(report.failed) - len(of_kind(report, OutcomeKind.FAILED))
    notes = {OutcomeKind.NOT_PROVEN: f" ({required} required)" if required else ""}
    counts = [(len(of_kind(report, kind)), f"{kind.heading.lower()}{notes.get(kind, '')}") for kind in OutcomeKind]
    return ", ".join(f"{count} {name}" for count, name in counts if count)


def headline(report: Report) -> str:
    """Return the summary of a report in one phrase, without numbers.

    The headline of a report without proven checks never claims that something passed.
    """
    words = {OutcomeKind.PASSED: "PASSED", OutcomeKind.FAILED: "FAILED", OutcomeKind.NOT_PROVEN: "NOTHING PROVEN"}
    return f"{words[overall(report)]} in tier {report.tier.value}"


def verdict(report: Report) -> str:
    """Return the report in one line."""
    listing = tally(report)
    return f"{headline(report)}: {listing}" if listing else headline(report)


def by_group(results: Iterable[CheckResult]) -> dict[str, list[CheckResult]]:
    """Return results by their subject, both in the order of their first occurrence."""
    groups: dict[str, list[CheckResult]] = {}
    for result in results:
        groups.setdefault(result.group, []).append(result)
    return groups


def by_reason(report: Report) -> dict[tuple[str, bool], list[CheckResult]]:
    """Return unproven checks by their reason, and by True if they were required.

    Returns:
        Required ones first, then in the order of their first occurrence.
    """
    reasons: dict[tuple[str, bool], list[CheckResult]] = {}
    for result in report.results:
        if isinstance(result.outcome, NotProven):
            reasons.setdefault((result.outcome.reason, report.counts_as_failure(result)), []).append(result)
    return dict(sorted(reasons.items(), key=lambda entry: not entry[0][1]))


def figure_groups(report: Report) -> dict[str, list[Figure]]:
    """Return figures by their heading, both in the order of their first occurrence."""
    groups: dict[str, list[Figure]] = {}
    for figure in report.figures:
        groups.setdefault(figure.group, []).append(figure)
    return groups


def spread(figure: Figure) -> str:
    """Return the spread of a figure, such as `7.9 to 21 µs`; empty without one."""
    low = "" if figure.low is None else quantity(figure.low, figure.unit)
    high = "" if figure.high is None else quantity(figure.high, figure.unit)
    if low and high:
        unit = f" {high.partition(' ')[2]}"
        return f"{low.removesuffix(unit)} to {high}"
    return f"from {low}" if low else f"up to {high}" if high else ""


def described(figure: Figure) -> str:
    """Return value and spread in one phrase."""
    between = spread(figure)
    return f"{quantity(figure.value, figure.unit)} ({between})" if between else quantity(figure.value, figure.unit)
