"""The published JSON Schema describes what is really written."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given

from envbuilder.diagnostics.checks.results import Report, Tier
from envbuilder.diagnostics.report.json_format import report_schema
from envbuilder.diagnostics.report.registry import FORMATS
from tests.golden.reported import REPORTED
from tests.unit.diagnostics.report.test_reporting import REPORT, reports

SCHEMA = json.loads(report_schema())


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
    assert SCHEMA["$defs"]["tier"]["enum"] == [tier.value for tier in Tier]


@pytest.mark.parametrize("name", REPORTED)
def test_real_reports_fit(name: str) -> None:
    validator().validate(written(REPORTED[name]()))


@given(reports)
def test_every_report_fits(report: Report) -> None:
    validator().validate(written(report))


def test_every_field_that_is_written_is_described_and_required() -> None:
    document = written(REPORT)
    assert set(document) == set(SCHEMA["properties"]) == set(SCHEMA["required"])
    result = SCHEMA["$defs"]["result"]
    of_outcomes = {"seen", "problem", "remedy", "reason"}
    assert {name for each in json.loads(json.dumps(document["results"])) for name in each} == set(result["properties"])
    assert set(result["required"]) == set(result["properties"]) - of_outcomes
    (figure,) = json.loads(json.dumps(document["figures"]))
    assert set(figure) == set(SCHEMA["$defs"]["figure"]["properties"]) == set(SCHEMA["$defs"]["figure"]["required"])


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
