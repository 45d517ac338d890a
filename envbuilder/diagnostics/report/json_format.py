"""A report as JSON for programs; field names and their meaning are constant within a schema."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib import resources
from typing import TypeAlias, assert_never

from envbuilder.diagnostics.checks.results import CheckResult, Failed, NotProven, Passed, Report
from envbuilder.diagnostics.report.summary import outcome_kind

REPORT_SCHEMA = 1
JsonValue: TypeAlias = str | float | list[str] | None


def json_report(report: Report) -> str:
    """Return the report as indented JSON."""
    document = {
        "schema": REPORT_SCHEMA,
        "subject": report.subject,
        "environment": report.environment,
        "tier": report.tier.value,
        "required": report.required.value if report.required else None,
        "passed": report.passed,
        "seconds": round(report.seconds, 3),
        "results": [_result(result) for result in report.results],
        "facts": [{"name": name, "value": value} for name, value in report.facts],
        "deviations": list(report.deviations),
        "not_covered": list(report.not_covered),
        "figures": [asdict(figure) for figure in report.figures],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _result(result: CheckResult) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = {
        "id": result.id,
        "title": result.title,
        "group": result.group,
        "tiers": [tier.value for tier in result.tiers],
        "seconds": None if result.seconds is None else round(result.seconds, 3),
        "outcome": outcome_kind(result).value,
    }
    match result.outcome:
        case Passed(seen=seen):
            return {**fields, "seen": seen}
        case Failed(finding=finding):
            return {**fields, "problem": finding.message, "remedy": finding.remedy}
        case NotProven(reason=reason):
            return {**fields, "reason": reason}
        case other:
            assert_never(other)


def report_schema() -> str:
    """Return the JSON Schema (draft 2020-12) of the output of `json_report`, as in the file `report.schema.json`."""
    return resources.files("envbuilder.diagnostics.report").joinpath("report.schema.json").read_text(encoding="utf-8")
