"""A document becomes a dataclass, and every fault has its line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from envbuilder.core.conversion.reading import Mismatch, Path
from envbuilder.core.errors import InvalidInput
from envbuilder.core.yaml.documents import parse, read
from envbuilder.core.yaml.structured import line_of, structured

TEXT = """name: "a"
places:
  - row: 1
    kind: "x"
  - row: 2
    kind: "y"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    row: int
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Town:
    name: str
    places: tuple[Place, ...] = ()


def rows_ascend(town: Town) -> Iterator[Mismatch]:
    rows = [place.row for place in town.places]
    if rows != sorted(rows):
        yield Mismatch(path=("places", 1, "row"), problem="must ascend")


def faults(text: str) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        structured(Town, read(text, "file"), "file", check=rows_ascend)
    return [str(fault) for fault in caught.value.faults]


def test_a_document_becomes_its_dataclass() -> None:
    places = (Place(row=1, kind="x"), Place(row=2, kind="y"))
    assert structured(Town, read(TEXT, "file"), "file", check=rows_ascend) == Town(name="a", places=places)


def test_faults_of_spelling_and_of_fields_are_raised_together() -> None:
    text = TEXT.replace('"a"', "1.10").replace("row: 1", "row: one")
    assert faults(text) == [
        'file:1: name: 1.10 would be read as a number with a fraction (write "1.10")',
        "file:3: places[0].row: must be a whole number",
    ]


def test_a_field_has_one_fault() -> None:
    assert faults(TEXT.replace('"a"', "no")) == [
        'file:1: name: no would be read as true or false (write "no")',
    ]


def test_a_text_on_two_lines_is_refused() -> None:
    assert faults(TEXT.replace('"a"', '"a\\nb"')) == ["file:1: name: must be printable text on one line"]


def test_rules_between_fields_are_checked_if_each_is_valid() -> None:
    assert faults(TEXT.replace("row: 1", "row: 3")) == ["file:5: places[1].row: must ascend"]
    assert faults(TEXT.replace("row: 1", "row: 3").replace('"y"', "5")) == [
        'file:6: places[1].kind: must be text (write "5")'
    ]


def test_an_unknown_field_suggests_the_nearest_known_one() -> None:
    assert faults(TEXT.replace("places:", "plaices:")) == [
        "file:3: plaices: is not a known field (did you mean places?)"
    ]


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ((), 1),
        (("places",), 3),
        (("places", 1, "kind"), 6),
        (("places", 1, "colour"), 5),
        (("name", "x"), 1),
        (("elsewhere",), 1),
    ],
)
def test_the_line_of_a_path_is_that_of_its_deepest_part_that_is_there(path: Path, line: int) -> None:
    assert line_of(parse(TEXT, "file"), path) == line
