"""The first thing that went wrong is said, on one line."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.curation.proof.failure_reason import first_problem, on_one_line
from envbuilder.diagnostics.checks.results import CheckResult, NotProven, Outcome, Passed, failure
from tests.fakes.proving import report

FAILED = failure(problem="loss rose", remedy="look")
UNSEEN = NotProven(reason="tensorflow was not imported")


def said(*outcomes: Outcome) -> str:
    results = tuple(
        CheckResult(id=f"check-{number}", title=f"check {number}", outcome=outcome)
        for number, outcome in enumerate(outcomes)
    )
    return first_problem(replace(report(passed=False), results=results))


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ((Passed(seen="it"), FAILED), "check 1: loss rose"),
        ((UNSEEN, FAILED, FAILED), "check 1: loss rose"),
        ((Passed(seen="it"), UNSEEN), "check 1: tensorflow was not imported"),
        ((), "nothing was proven"),
    ],
)
def test_a_failure_goes_before_what_could_not_be_seen_because_of_it(
    outcomes: tuple[Outcome, ...], expected: str
) -> None:
    assert said(*outcomes) == expected


@given(st.text(max_size=400))
def test_any_reason_becomes_one_printable_line_of_bounded_length(text: str) -> None:
    line = on_one_line(text)
    assert line.isprintable()
    assert len(line) <= 300
    assert on_one_line(line) == line


def test_words_stay_apart_where_lines_did() -> None:
    assert on_one_line("  Traceback:\n\tImportError:\x1b[0m no\u2028libx ") == "Traceback: ImportError: [0m no libx"
