"""Evidence survives being written and read, and what is wrong with it is told by line and field."""

from __future__ import annotations

from contextlib import suppress
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envbuilder.catalog.evidence import Evidence, Grade, Unproven
from envbuilder.catalog.load.environments import Proof, dump_proof, read_proof
from envbuilder.core.errors import InvalidInput
from tests.unit.catalog.load.proofs import EVIDENCE, UNPROVEN
from tests.unit.catalog.test_evidence import EACH

ROW = "tf-2.15-cpu"
WHY = Unproven(grade=Grade.GPU, why="no GPU here", when=date(2026, 11, 21))
GOOD = Proof(evidence=EACH, unproven=(WHY,))


def ordered(evidence: list[Evidence], unproven: list[Unproven]) -> Proof:
    return Proof(
        evidence=tuple(sorted(evidence, key=lambda entry: entry.grade.rank)),
        unproven=tuple(sorted(unproven, key=lambda entry: entry.grade.rank)),
    )


PROOFS = st.builds(ordered, st.lists(EVIDENCE, min_size=1, max_size=4), st.lists(UNPROVEN, max_size=2))


def loaded(text: str) -> Proof:
    return read_proof(text, "file", ROW)


def faults(text: str) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        loaded(text)
    return [str(fault) for fault in caught.value.faults]


@given(PROOFS)
@settings(max_examples=80)
def test_a_dumped_proof_loads_as_itself(proof: Proof) -> None:
    text = dump_proof(ROW, proof)
    assert loaded(text) == proof
    assert dump_proof(ROW, loaded(text)) == text


@given(st.text(max_size=80))
def test_any_text_gives_a_proof_or_our_error(text: str) -> None:
    with suppress(InvalidInput):
        loaded(text)


@given(st.data())
@settings(max_examples=60)
def test_a_proof_with_a_piece_cut_out_gives_a_proof_or_our_error(data: st.DataObject) -> None:
    text = dump_proof(ROW, GOOD)
    start = data.draw(st.integers(0, len(text)))
    with suppress(InvalidInput):
        loaded(text[:start] + text[data.draw(st.integers(start, len(text))) :])


def test_the_weakest_evidence_comes_first() -> None:
    proof = Proof(evidence=EACH[::-1], unproven=(WHY, Unproven(grade=Grade.CPU, why="no", when=WHY.when)))
    assert proof.evidence == EACH
    assert [entry.grade for entry in proof.unproven] == [Grade.CPU, Grade.GPU]


def test_what_a_person_opens_says_who_wrote_it_and_of_which_row() -> None:
    head, schema, row = dump_proof(ROW, GOOD).splitlines()[:3]
    assert head.startswith("# ")
    assert "envbuilder catalog prove" in head
    assert (schema, row) == ("schema: 1", f'id: "{ROW}"')


def test_nothing_unproven_is_not_written() -> None:
    assert "unproven" not in dump_proof(ROW, Proof(evidence=EACH))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('grade: "measured"', 'grade: "weighed"', "file:8: evidence[1].grade: 'weighed' is none of documented, mea"),
        ('where: "a table"', 'were: "a table"', "file:5: evidence[0].where: is missing"),
        ('sha256: "0123', 'sha256: "xyz', "file:10: evidence[1].sha256: 'xyz"),
        ('closure: "sha256:', 'closure: "', "file:17: evidence[2].closure: '0123"),
        (
            'bases:\n      - "debian-bookworm"\n      - "image-11.0"',
            "bases: ~",
            "file:13: evidence[2].bases: is missing",
        ),
        ('glibc: "2.36"', "glibc: 2.36", "file:21: evidence[3].glibc: 2.36 would be read as a number"),
        ('lock: "sha256:', 'lock: "sha1:', "file:29: evidence[4].lock: 'sha1:"),
        ('driver: "580.95"', 'driver: "580\\n95"', "file:45: evidence[6].driver: must be printable text on one line"),
        ('when: "2026-11-21"', 'when: "yesterday"', "file:7: evidence[0].when: "),
        ('why: "no GPU here"', "why: ~", "file:52: unproven[0].why: is missing"),
    ],
)
def test_a_fault_names_its_line_and_field(old: str, new: str, expected: str) -> None:
    text = dump_proof(ROW, GOOD)
    assert old in text
    assert faults(text.replace(old, new, 1))[0].startswith(expected), faults(text.replace(old, new, 1))


def test_a_field_of_another_grade_is_unknown() -> None:
    text = dump_proof(ROW, GOOD).replace('where: "a table"', 'where: "a table"\n    driver: "580"')
    [fault] = faults(text)
    assert fault.startswith("file:7: evidence[0].driver: is not a known field")


@pytest.mark.parametrize("evidence", ["", "evidence: []", 'evidence: "none"'])
def test_a_row_has_evidence(evidence: str) -> None:
    [fault] = faults(f'schema: 1\nid: "{ROW}"\n{evidence}\n')
    assert "evidence" in fault
