"""How each result counts in its report; the same for every format."""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never

from envbuilder.model.findings import CheckResult, Failed, NotProven, Passed, Report


class Standing(StrEnum):
    """What a result is called in a report."""

    FAILED = "failed"
    NOT_PROVEN = "not-proven"
    PASSED = "passed"


def standing(result: CheckResult) -> Standing:
    """The kind of outcome."""
    match result.outcome:
        case Failed():
            return Standing.FAILED
        case NotProven():
            return Standing.NOT_PROVEN
        case Passed():
            return Standing.PASSED
        case other:
            assert_never(other)


def of_standing(report: Report, wanted: Standing) -> tuple[CheckResult, ...]:
    """The results of one kind, in the report's order."""
    return tuple(result for result in report.results if standing(result) is wanted)


def verdict(report: Report) -> str:
    """The report in one line of plain words.

    A report in which nothing was proven never says that something passed.
    """
    counts = [(len(of_standing(report, kind)), kind.value.replace("-", " ")) for kind in Standing]
    listing = ", ".join(f"{count} {name}" for count, name in counts if count)
    if not of_standing(report, Standing.PASSED) and not report.failed:
        return f"NOTHING PROVEN in tier {report.tier.value}{': ' if listing else ''}{listing}"
    return f"{'PASSED' if report.passed else 'FAILED'} in tier {report.tier.value}: {listing}"
