"""A wrong failures.yaml: every fault with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.core.errors import InvalidInput
from envbuilder.diagnostics.logs.signatures import load_failures, read_failures

GOOD = """schema: 1
classes:
  - id: "some-failure"
    title: "a failure"
    cause: "something"
    fix: "mend it"
signatures:
  - id: "some-line"
    class: "some-failure"
    anchors:
      - "broken thing"
    pattern: "broken thing [0-9]{1,3}"
    weight: 50
    examples:
      - "broken thing 7"
    sources:
      - "a test"
"""


def test_a_good_document_is_read() -> None:
    failures = read_failures(GOOD, "failures.yaml")
    assert failures.signatures[0].weight == 50
    assert failures.failure("some-failure").title == "a failure"
    with pytest.raises(KeyError):
        failures.failure("another")


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("broken thing [0-9]{1,3}", "broken [", "is not a regular expression"),
        ("broken thing [0-9]{1,3}", "broken .*", "without an upper bound"),
        ('class: "some-failure"', 'class: "other"', "there is no class 'other'"),
        ("weight: 50", "weight: 100", "percentage"),
        ('- "broken thing"', '- "x1"', "three letters"),
        ('- "broken thing"', '- "Fehler über"', "ASCII"),
        ('id: "some-line"', 'id: "Some line"', "lower-case words"),
        ("schema: 1", "schema: 2", "must be 1"),
        ("weight: 50", 'weight: 50\n    only_with:\n      - "nothing"', "there is no signature 'nothing'"),
        ('fix: "mend it"', 'fix: "mend it"\n    explains:\n      - "nothing"', "there is no class 'nothing'"),
        ('class: "some-failure"', 'role: "noise"\n    class: "some-failure"', "nothing else does"),
        ("weight: 50", "weight: 50\n    wieght: 3", "did you mean weight"),
    ],
)
def test_a_fault_is_told_with_its_line(old: str, new: str, fault: str) -> None:
    assert old in GOOD
    with pytest.raises(InvalidInput) as caught:
        read_failures(GOOD.replace(old, new, 1), "failures.yaml")
    assert fault in str(caught.value)
    assert all(each.line > 0 for each in caught.value.faults)


def test_an_id_that_stands_twice_is_a_fault() -> None:
    twice = GOOD + GOOD[GOOD.index('  - id: "some-line"') :]
    with pytest.raises(InvalidInput, match="is a duplicate"):
        read_failures(twice, "failures.yaml")


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_failures(tmp_path)
