from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.errors import UsageError
from envbuilder.model.findings import CheckResult, Failed, NotProven, Passed, Report, Tier
from envbuilder.reporting import FORMATS, format_named

REPORT = Report(
    subject="team/tf:1",
    environment="tf-2.4-cuda11.0",
    tier=Tier.CPU,
    required=None,
    results=(
        CheckResult(id="python-version", title="Python version", outcome=Passed(seen="Python 3.8.18")),
        CheckResult(
            id="cudnn-version",
            title="cuDNN version",
            outcome=Failed(
                problem="cuDNN is 7.6.5; TensorFlow takes cuDNN 8.0 or a later 8.x", remedy="rebuild from the lock"
            ),
        ),
        CheckResult(id="tensorflow-cuda-libraries", title="own check", outcome=NotProven(reason="not exported")),
    ),
    facts=(("TensorFlow", "2.4.4"), ("driver", "none")),
    deviations=("CUDA libraries are 11.8 instead of 11.0",),
    not_covered=("that a driver fits: none was asked",),
    seconds=12.3456,
)
TEXT = """\
team/tf:1 (tf-2.4-cuda11.0)
  TensorFlow: 2.4.4
  driver: none

Failed
  cudnn-version: cuDNN is 7.6.5; TensorFlow takes cuDNN 8.0 or a later 8.x
    Remedy: rebuild from the lock

Not proven
  tensorflow-cuda-libraries: not exported

Passed
  python-version: Python 3.8.18

Differs from what the wheel was compiled with
  - CUDA libraries are 11.8 instead of 11.0

FAILED in tier cpu: 1 failed, 1 not proven, 1 passed

Tier cpu did not prove
  - that a driver fits: none was asked
"""

words = st.text(st.characters(), max_size=300)
outcomes = st.one_of(
    st.builds(Passed, seen=words),
    st.builds(Failed, problem=words, remedy=words),
    st.builds(NotProven, reason=words),
)
reports = st.builds(
    Report,
    subject=words,
    environment=words,
    tier=st.sampled_from(Tier),
    required=st.none() | st.sampled_from(Tier),
    results=st.lists(st.builds(CheckResult, id=words, title=words, outcome=outcomes), max_size=4).map(tuple),
    facts=st.lists(st.tuples(words, words), max_size=2).map(tuple),
    deviations=st.lists(words, max_size=2).map(tuple),
    not_covered=st.lists(words, max_size=2).map(tuple),
    seconds=st.floats(0, 1e6),
)


def suite(report: Report) -> ET.Element:
    root = ET.fromstring(FORMATS["junit"].write(report))  # noqa: S314 - written by us a moment ago
    found = root.find("testsuite")
    assert found is not None
    return found


def test_text_groups_failures_first_and_ends_with_what_was_not_proven() -> None:
    assert FORMATS["text"].write(REPORT) == TEXT


def test_text_says_that_something_required_counts_as_failed() -> None:
    required = replace(REPORT, required=Tier.CPU)
    assert "not exported (required, so it counts as failed)" in FORMATS["text"].write(required)


def test_colour_is_only_there_when_asked_for() -> None:
    assert "\x1b" not in FORMATS["text"].write(REPORT)
    assert "\x1b[31;1mFailed\x1b[0m" in FORMATS["text"].write(REPORT, color=True)


def test_a_report_without_results_never_says_passed() -> None:
    empty = replace(REPORT, results=())
    assert not empty.passed
    assert "NOTHING PROVEN" in FORMATS["text"].write(empty)
    assert "PASSED" not in FORMATS["text"].write(empty)


@given(reports)
def test_text_fits_a_hundred_columns_and_has_no_control_characters(report: Report) -> None:
    text = FORMATS["text"].write(report)

    assert all(len(line) <= 100 for line in text.split("\n"))
    assert all(character == "\n" or character.isprintable() or ord(character) >= 160 for character in text)


def test_json_has_stable_names() -> None:
    document = json.loads(FORMATS["json"].write(REPORT))

    assert list(document) == [
        "schema",
        "subject",
        "environment",
        "tier",
        "required",
        "passed",
        "seconds",
        "results",
        "facts",
        "deviations",
        "not_covered",
    ]
    assert (document["schema"], document["passed"], document["seconds"]) == (1, False, 12.346)
    assert document["results"] == [
        {"id": "python-version", "title": "Python version", "outcome": "passed", "seen": "Python 3.8.18"},
        {
            "id": "cudnn-version",
            "title": "cuDNN version",
            "outcome": "failed",
            "problem": "cuDNN is 7.6.5; TensorFlow takes cuDNN 8.0 or a later 8.x",
            "remedy": "rebuild from the lock",
        },
        {
            "id": "tensorflow-cuda-libraries",
            "title": "own check",
            "outcome": "not-proven",
            "reason": "not exported",
        },
    ]


@given(reports)
def test_json_can_be_read_back(report: Report) -> None:
    assert len(json.loads(FORMATS["json"].write(report))["results"]) == len(report.results)


def test_junit_skips_what_is_not_proven() -> None:
    found = suite(REPORT)

    assert (found.get("tests"), found.get("failures"), found.get("skipped")) == ("3", "1", "1")
    assert [[inner.tag for inner in case] for case in found.findall("testcase")] == [[], ["failure"], ["skipped"]]


def test_junit_fails_what_is_required_and_not_proven() -> None:
    found = suite(replace(REPORT, required=Tier.CPU))

    assert (found.get("failures"), found.get("skipped")) == ("2", "0")
    assert found.findall("testcase")[2][0].get("message") == "not proven: not exported"


@given(reports)
def test_junit_is_well_formed_and_counts(report: Report) -> None:
    found = suite(report)

    assert len(found.findall("testcase")) == len(report.results)
    assert len(found.findall("testcase/failure")) == len(report.failed) == int(found.get("failures", "-1"))


def test_a_format_that_is_not_there_is_a_usage_error() -> None:
    assert format_named("json") is FORMATS["json"]
    with pytest.raises(UsageError, match="pdf") as raised:
        format_named("pdf")
    assert "json, junit, text" in raised.value.hint
