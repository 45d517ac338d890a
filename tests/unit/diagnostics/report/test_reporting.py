from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.errors import UsageError
from envbuilder.diagnostics.checks.results import CheckResult, Figure, NotProven, Passed, Report, Tier, failure
from envbuilder.diagnostics.report.registry import FORMATS, SUFFIXES, format_named, format_of
from envbuilder.diagnostics.report.summary import OutcomeKind
from envbuilder.diagnostics.report.text_format import Colors, text_report

REPORT = Report(
    subject="team/tf:1",
    environment="tf-2.4-cuda11.0",
    tier=Tier.CPU,
    required=None,
    results=(
        CheckResult(
            id="python-version",
            title="Python version",
            outcome=Passed(seen="Python 3.8.18"),
            tiers=(Tier.CPU, Tier.GPU),
            group="Python and system",
            seconds=0.0042,
        ),
        CheckResult(
            id="cudnn-version",
            title="cuDNN version",
            outcome=failure(
                problem="cuDNN is 7.6.5; TensorFlow takes cuDNN 8.0 or a later 8.x", remedy="rebuild from the lock"
            ),
        ),
        CheckResult(id="tensorflow-cuda-libraries", title="own check", outcome=NotProven(reason="not exported")),
    ),
    facts=(("TensorFlow", "2.4.4"), ("driver", "none")),
    deviations=("CUDA libraries are 11.8 instead of 11.0",),
    not_covered=("that a driver fits: none was queried",),
    seconds=12.3456,
    figures=(Figure(name="GPU 0", value=8.1, unit="us", low=7.7, high=21.4, group="Latency"),),
)
COLORS = Colors(kinds={OutcomeKind.FAILED: 196, OutcomeKind.NOT_PROVEN: 136, OutcomeKind.PASSED: 29}, remedy=69)
TEXT = """\
team/tf:1 (tf-2.4-cuda11.0)
  TensorFlow  2.4.4
  driver      none

✗ Failed: 1
  cudnn-version
    cuDNN is 7.6.5; TensorFlow takes cuDNN 8.0 or a later 8.x
    Remedy: rebuild from the lock

? Not proven: 1
  not exported
    tensorflow-cuda-libraries

✓ Passed: 1
  Python and system
    python-version  Python 3.8.18

Figures
  Latency: GPU\xa00\xa08.1\xa0µs\xa0(7.7\xa0to\xa021.4\xa0µs)

Deviations
  - CUDA libraries are 11.8 instead of 11.0

FAILED in tier cpu: 1 failed, 1 not proven, 1 passed (12.3 s)

Tier cpu did not prove
  - that a driver fits: none was queried
"""

words = st.text(st.characters(), max_size=300)
outcomes = st.one_of(
    st.builds(Passed, seen=words),
    st.builds(failure, problem=words, remedy=words),
    st.builds(NotProven, reason=words),
)
numbers = st.floats(allow_nan=False, allow_infinity=False)
units = st.sampled_from(("s", "us", "bytes", "TFLOP/s", "")) | words
results = st.builds(
    CheckResult,
    id=words,
    title=words,
    outcome=outcomes,
    tiers=st.sampled_from(((Tier.CPU, Tier.GPU), (Tier.GPU,), (Tier.CPU,))),
    group=words,
    seconds=st.none() | st.floats(0, 1e6),
)
figures = st.builds(
    Figure, name=words, value=numbers, unit=units, low=st.none() | numbers, high=st.none() | numbers, group=words
)
reports = st.builds(
    Report,
    subject=words,
    environment=words,
    tier=st.sampled_from(Tier),
    required=st.none() | st.sampled_from(Tier),
    results=st.lists(results, max_size=4).map(tuple),
    facts=st.lists(st.tuples(words, words), max_size=2).map(tuple),
    deviations=st.lists(words, max_size=2).map(tuple),
    not_covered=st.lists(words, max_size=2).map(tuple),
    seconds=st.floats(0, 1e6),
    figures=st.lists(figures, max_size=3).map(tuple),
)


def suite(report: Report) -> ET.Element:
    root = ET.fromstring(FORMATS["junit"](report))  # noqa: S314 - written by us a moment ago
    found = root.find("testsuite")
    assert found is not None
    return found


def test_text_groups_failures_first_and_ends_with_what_was_not_proven() -> None:
    assert FORMATS["text"](REPORT) == TEXT


def test_text_says_that_something_required_counts_as_failed() -> None:
    required = replace(REPORT, required=Tier.CPU)
    assert "not exported (required, so it counts as failed)" in FORMATS["text"](required)


def test_text_says_a_reason_that_many_checks_share_once() -> None:
    gone = NotProven(reason="there is no GPU")
    several = tuple(CheckResult(id=f"gpu-{number}", title="", outcome=gone) for number in range(3))
    text = FORMATS["text"](replace(REPORT, results=several))
    assert "  there is no GPU\n    gpu-0, gpu-1, gpu-2\n" in text


def test_what_was_required_stands_before_what_was_not() -> None:
    several = (
        CheckResult(id="a-gpu", title="", outcome=NotProven(reason="no GPU"), tiers=(Tier.GPU,)),
        CheckResult(id="b-cpu", title="", outcome=NotProven(reason="no look"), tiers=(Tier.CPU,)),
    )
    text = FORMATS["text"](replace(REPORT, required=Tier.CPU, results=several))
    assert text.index("b-cpu") < text.index("a-gpu")


@pytest.mark.parametrize("name", ["html", "junit", "markdown", "text"])
def test_half_a_character_can_be_encoded(name: str) -> None:
    assert "a\ufffdb" in FORMATS[name](replace(REPORT, subject="a\udcffb")).encode().decode()


def test_the_verdict_says_how_much_of_what_is_not_proven_was_required() -> None:
    required = replace(REPORT, required=Tier.CPU)
    assert "FAILED in tier cpu: 1 failed, 1 not proven (1 required), 1 passed" in FORMATS["text"](required)


def test_colour_is_only_there_when_asked_for() -> None:
    assert "\x1b" not in FORMATS["text"](REPORT)
    assert "\x1b[38;5;196;1m✗ Failed: 1\x1b[0m" in text_report(REPORT, colors=COLORS)


def test_a_message_of_many_parts_has_the_first_ones_and_their_number() -> None:
    message = "; ".join(f"package-{number} is missing" for number in range(31))
    outcome = failure(problem=message, remedy="rebuild from the lock")
    result = CheckResult(id="distributions-present", title="Packages", outcome=outcome)
    text = " ".join(FORMATS["text"](replace(REPORT, results=(result,))).split())
    assert "package-5 is missing; and 25 more, which --json shows" in text
    assert "package-30 is missing" in FORMATS["json"](replace(REPORT, results=(result,)))
    assert "package-30 is missing" in FORMATS["html"](replace(REPORT, results=(result,)))


def test_a_report_without_an_environment_has_no_empty_parentheses() -> None:
    first, *_ = FORMATS["text"](replace(REPORT, environment="")).splitlines()
    assert first == REPORT.subject


def test_a_report_without_results_never_says_passed() -> None:
    empty = replace(REPORT, results=())
    assert not empty.passed
    assert "NOTHING PROVEN" in FORMATS["text"](empty)
    assert "PASSED" not in FORMATS["text"](empty)


@given(reports)
def test_text_fits_a_hundred_columns_and_has_no_control_characters(report: Report) -> None:
    text = FORMATS["text"](report)

    assert all(len(line) <= 100 for line in text.split("\n"))
    assert all(character == "\n" or character.isprintable() or ord(character) >= 160 for character in text)


def test_json_has_stable_names() -> None:
    document = json.loads(FORMATS["json"](REPORT))

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
        "figures",
    ]
    assert (document["schema"], document["passed"], document["seconds"]) == (1, False, 12.346)
    assert document["results"] == [
        {
            "id": "python-version",
            "title": "Python version",
            "group": "Python and system",
            "tiers": ["cpu", "gpu"],
            "seconds": 0.004,
            "outcome": "passed",
            "seen": "Python 3.8.18",
        },
        {
            "id": "cudnn-version",
            "title": "cuDNN version",
            "group": "",
            "tiers": ["cpu"],
            "seconds": None,
            "outcome": "failed",
            "problem": "cuDNN is 7.6.5; TensorFlow takes cuDNN 8.0 or a later 8.x",
            "remedy": "rebuild from the lock",
        },
        {
            "id": "tensorflow-cuda-libraries",
            "title": "own check",
            "group": "",
            "tiers": ["cpu"],
            "seconds": None,
            "outcome": "not-proven",
            "reason": "not exported",
        },
    ]
    assert document["figures"] == [
        {"name": "GPU 0", "group": "Latency", "value": 8.1, "unit": "us", "low": 7.7, "high": 21.4}
    ]


@given(reports)
def test_json_can_be_read_back(report: Report) -> None:
    assert len(json.loads(FORMATS["json"](report))["results"]) == len(report.results)


def test_junit_has_the_seconds_that_are_known() -> None:
    assert [case.get("time") for case in suite(REPORT).findall("testcase")] == ["0.004", None, None]


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


def test_the_suffix_of_a_file_names_its_format() -> None:
    names = {suffix: format_of(Path(f"a.b{suffix}")) for suffix in SUFFIXES}
    assert set(names.values()) == set(FORMATS.values())
    assert format_of(Path("REPORT.HTML")) is FORMATS["html"]
    with pytest.raises(UsageError, match=r"report\.pdf") as raised:
        format_of(Path("report.pdf"))
    assert ".md" in raised.value.hint


def test_a_format_that_is_not_there_is_a_usage_error() -> None:
    assert format_named("json") is FORMATS["json"]
    with pytest.raises(UsageError, match="pdf") as raised:
        format_named("pdf")
    assert "html, json, junit, markdown, text" in raised.value.hint


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_text_fits_the_columns_of_a_terminal_and_nothing_is_cut(columns: int) -> None:
    text = text_report(REPORT, columns=columns)
    assert "…" not in text
    assert not [line for line in text.splitlines() if len(line) > columns and len(line.split()) > 1]
