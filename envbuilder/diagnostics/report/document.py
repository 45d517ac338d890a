"""A report as JSON for programs; field names and their meaning are constant within a schema."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypedDict, assert_never

from envbuilder.core.conversion.json_schema import json_schema
from envbuilder.core.field_rules import NotEmpty
from envbuilder.core.structure import document_of
from envbuilder.diagnostics.checks.results import CheckResult, Failed, NotProven, Passed, Report, Tier


class _Result(TypedDict):
    id: str
    title: str
    group: str
    tiers: Annotated[list[Tier], NotEmpty()]
    seconds: float | None


class PassedResult(_Result):
    """A check that passed.

    Attributes:
        id: Stable.
        group: Subject of the check; may be empty.
        seconds: Of the probe's step behind it; null if it was not measured. A step counts for one check only.
        seen: What was found.
    """

    outcome: Literal["passed"]
    seen: str


class FailedResult(_Result):
    """A check that failed.

    Attributes:
        id: Stable.
        group: Subject of the check; may be empty.
        seconds: Of the probe's step behind it; null if it was not measured. A step counts for one check only.
        remedy: What to do.
    """

    outcome: Literal["failed"]
    problem: str
    remedy: str


class NotProvenResult(_Result):
    """A check that could not be made.

    Attributes:
        id: Stable.
        group: Subject of the check; may be empty.
        seconds: Of the probe's step behind it; null if it was not measured. A step counts for one check only.
        reason: Why it could not be made.
    """

    outcome: Literal["not-proven"]
    reason: str


class Fact(TypedDict):
    """A property of what was validated, as a report shows it."""

    name: str
    value: str


class ReportFigure(TypedDict):
    """A number that was measured.

    Attributes:
        unit: Such as s, us, bytes, TFLOP/s.
        low: Lower end of the spread; null without one.
        high: Upper end of the spread; null without one.
    """

    name: str
    group: str
    value: float
    unit: str
    low: float | None
    high: float | None


class ReportDocument(TypedDict):
    """Fields may be added within schema 1; none is removed or changes its meaning.

    Attributes:
        subject: What was validated, such as an image reference.
        environment: Id of the environment; empty if it is unknown.
        tier: Extent of the validation.
        required: Tier that had to be proven; null if none was requested.
        passed: Whether something was proven and nothing failed: the exit status is 0.
        seconds: How long the whole validation took.
        results: In the order of the check table.
        deviations: Differences of the image from what the wheel was compiled with, and Debian's updates that it lacks.
        not_covered: What this tier did not prove.
    """

    schema: Literal[1]
    subject: str
    environment: str
    tier: Tier
    required: Tier | None
    passed: bool
    seconds: float
    results: list[PassedResult | FailedResult | NotProvenResult]
    facts: list[Fact]
    deviations: list[str]
    not_covered: list[str]
    figures: list[ReportFigure]


def json_report(report: Report) -> str:
    """Return the report as indented JSON."""
    document = document_of(
        ReportDocument,
        report,
        seconds=round(report.seconds, 3),
        results=[_result(result) for result in report.results],
        facts=[Fact(name=name, value=value) for name, value in report.facts],
    )
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _result(result: CheckResult) -> dict[str, Any]:
    seconds = None if result.seconds is None else round(result.seconds, 3)
    match result.outcome:
        case Passed(seen=seen):
            return document_of(PassedResult, result, seconds=seconds, seen=seen)
        case Failed(finding=finding):
            shown = {"problem": finding.message, "remedy": finding.remedy}
            return document_of(FailedResult, result, seconds=seconds, **shown)
        case NotProven(reason=reason):
            return document_of(NotProvenResult, result, seconds=seconds, reason=reason)
        case other:
            assert_never(other)


def report_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the output of `json_report`."""
    return json_schema(ReportDocument, "report") | {"title": "Report of envbuilder validate"}
