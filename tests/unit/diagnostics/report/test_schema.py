"""The published JSON Schema describes what is really written."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given

from envbuilder.diagnostics.checks.results import Report, Tier
from envbuilder.diagnostics.report.document import report_schema
from envbuilder.diagnostics.report.registry import FORMATS
from tests.golden.reported import REPORTED
from tests.unit.diagnostics.report.test_reporting import REPORT, reports

SCHEMA = report_schema()
REPORT_TYPE = SCHEMA["$defs"]["ReportDocument"]
RESULTS = ("PassedResult", "FailedResult", "NotProvenResult")


@cache
def validator() -> Any:  # noqa: ANN401  the package has no types
    """Return the validator of the schema; its import takes seconds, which only these tests are to cost."""
    import jsonschema  # type: ignore[import-untyped]  # noqa: PLC0415

    return jsonschema.Draft202012Validator(SCHEMA)


def written(report: Report) -> dict[str, object]:
    document = json.loads(FORMATS["json"](report), parse_constant=pytest.fail)
    assert isinstance(document, dict)
    return document


def test_the_schema_is_a_schema() -> None:
    validator().check_schema(SCHEMA)
    assert REPORT_TYPE["properties"]["tier"]["enum"] == [tier.value for tier in Tier]


@pytest.mark.parametrize("name", REPORTED)
def test_real_reports_fit(name: str) -> None:
    validator().validate(written(REPORTED[name]()))


@given(reports)
def test_every_report_fits(report: Report) -> None:
    validator().validate(written(report))


def test_every_field_that_is_written_is_described_and_required() -> None:
    document = written(REPORT)
    assert set(document) == set(REPORT_TYPE["properties"]) == set(REPORT_TYPE["required"])
    results = json.loads(json.dumps(document["results"]))
    assert {each["outcome"]: set(each) for each in results} == {
        kind["properties"]["outcome"]["enum"][0]: set(kind["required"])
        for kind in (SCHEMA["$defs"][name] for name in RESULTS)
    }
    (figure,) = json.loads(json.dumps(document["figures"]))
    kind = SCHEMA["$defs"]["ReportFigure"]
    assert set(figure) == set(kind["properties"]) == set(kind["required"])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("schema", 2),
        ("tier", "static?"),
        ("passed", "yes"),
        ("results", [{"id": "x", "title": "x", "group": "", "tiers": ["cpu"], "seconds": None, "outcome": "failed"}]),
        (
            "results",
            [{"id": "x", "title": "x", "group": "", "tiers": [], "seconds": 1, "outcome": "passed", "seen": ""}],
        ),
        ("figures", [{"name": "x"}]),
    ],
)
def test_what_is_no_report_does_not_fit(field: str, value: object) -> None:
    assert not validator().is_valid(written(REPORT) | {field: value})
