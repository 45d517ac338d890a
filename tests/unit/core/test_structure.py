"""Values become plain data and come back; whatever does not fit is named with its path."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from types import SimpleNamespace
from typing import Annotated, Any, Generic, Literal, NotRequired, TypedDict, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.conversion.reading import Dialect, Mismatched
from envbuilder.core.field_rules import (
    At,
    Entries,
    Inside,
    Named,
    NotEmpty,
    Omitted,
    Parsed,
    Sorted,
    Tagged,
    Unique,
    When,
)
from envbuilder.core.structure import document_of, dump, load
from envbuilder.core.versions import Release

T = TypeVar("T")


class Colour(StrEnum):
    RED = "red"
    BLUE = "dark-blue"


def even(number: int) -> int:
    if number % 2:
        raise ValueError("must be even")
    return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Generic[T]):
    value: T


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    why: Annotated[str, At("error", "message")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    user: str
    part: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    row: int
    column: Annotated[int, At("x-position")]

    def __post_init__(self) -> None:
        if self.row == self.column:
            raise ValueError("row and column must differ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    name: str
    count: Annotated[int, Parsed(even, of=int, write=int)]
    ready: bool
    weight: float | None
    release: Release | None
    colours: tuple[Colour, ...]
    place: Annotated[Place, At()]
    found: Annotated[Found[tuple[Release, ...]] | Absent, Tagged("ok", True, False)]
    wrapped: Annotated[tuple[str, ...], Inside("items")]
    env: Annotated[tuple[tuple[str, str], ...], Entries()]
    shares: Annotated[tuple[Share, ...], Entries(ordered=True)]
    deep: Annotated[int, At("outer", "inner")] = 0
    other: Annotated[str, At("outer", "text")] = ""
    names: tuple[str, ...] = field(default_factory=tuple)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
RELEASES = st.lists(st.integers(0, 99), min_size=1, max_size=3).map(lambda parts: Release(".".join(map(str, parts))))
NUMBERS = st.none() | st.floats(-9, 9)
WHOLES = st.builds(
    Whole,
    name=TEXT,
    count=st.integers(-9, 9).map(lambda number: number * 2),
    ready=st.booleans(),
    weight=NUMBERS,
    release=st.none() | RELEASES,
    colours=st.lists(st.sampled_from(Colour), max_size=3).map(tuple),
    place=st.builds(Place, row=st.integers(0, 4), column=st.integers(5, 9)),
    found=st.builds(Absent, why=TEXT)
    | st.lists(RELEASES, max_size=3).map(lambda releases: Found(value=tuple(releases))),
    wrapped=st.lists(TEXT, max_size=2).map(tuple),
    env=st.dictionaries(TEXT, TEXT, max_size=3).map(lambda pairs: tuple(pairs.items())),
    shares=st.dictionaries(TEXT, NUMBERS, max_size=3).map(
        lambda parts: tuple(Share(user=user, part=parts[user]) for user in sorted(parts))
    ),
    deep=st.integers(0, 2),
    other=TEXT,
    names=st.lists(TEXT, max_size=2).map(tuple),
)
PLAIN: dict[str, Any] = {
    "name": "x",
    "count": 2,
    "ready": True,
    "weight": 1,
    "release": "11.0",
    "colours": ["red"],
    "row": 1,
    "x-position": 2,
    "found": {"ok": True, "value": ["1"]},
    "wrapped": {"items": ["a"]},
    "env": {"b": "1", "a": "2"},
    "shares": {"z": 1.5, "y": None},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def problems(value: object, dialect: Dialect | None = None) -> list[tuple[str, str]]:
    with pytest.raises(Mismatched) as caught:
        load(Whole, value, dialect=dialect)
    return [(each.field, each.problem) for each in caught.value.mismatches]


@given(WHOLES)
def test_what_was_written_comes_back(whole: Whole) -> None:
    assert load(Whole, dump(whole), dialect=Dialect(closed=True)) == whole


def test_the_document_has_the_order_of_the_fields_and_no_defaults() -> None:
    assert list(dump(load(Whole, PLAIN))) == list(PLAIN)


def read(value: object) -> Whole | Mismatched:
    try:
        return load(Whole, value)
    except Mismatched as error:
        return error


@given(st.sampled_from([*PLAIN, "outer"]), JSON)
def test_any_value_of_a_field_gives_a_value_or_names_what_is_wrong(name: str, value: object) -> None:
    found = read(PLAIN | {name: value})
    assert isinstance(found, Whole) or all(each.field and each.problem for each in found.mismatches)


def test_every_mismatch_is_listed_with_its_path() -> None:
    wrong = PLAIN | {
        "name": 3.1,
        "count": 3,
        "ready": "yes",
        "release": "x",
        "colours": ["red", "green"],
        "found": {"ok": True, "value": ["1", 2]},
        "wrapped": {"items": [None]},
        "env": {"a": 1},
        "shares": {"z": "much"},
        "outer": {"inner": True},
        "names": "a",
    }
    assert problems(wrong) == [
        ("name", "must be text"),
        ("count", "must be even"),
        ("ready", "must be true or false"),
        ("release", "'x' is not a dotted release number"),
        ("colours[1]", "'green' is none of red, dark-blue"),
        ("found.value[1]", "must be text"),
        ("wrapped.items[0]", "must be text"),
        ("env.a", "must be text"),
        ("shares.z", "must be a number"),
        ("outer.inner", "must be a whole number"),
        ("names", "must be a list"),
    ]


@pytest.mark.parametrize(
    ("change", "field", "problem"),
    [
        ({"name": None}, "name", "is missing"),
        ({"found": {}}, "found.ok", "must be true or false"),
        ({"found": {"ok": False}}, "found.error", "is missing"),
        ({"found": {"ok": False, "error": {}}}, "found.error.message", "is missing"),
        ({"found": []}, "found", "must be an object"),
        ({"outer": 1}, "outer", "must be an object"),
        ({"wrapped": []}, "wrapped", "must be an object"),
        ({"row": 2}, "", "row and column must differ"),
        ({"count": True}, "count", "must be a whole number"),
        ({"weight": True}, "weight", "must be a number"),
    ],
)
def test_one_mismatch(change: dict[str, object], field: str, problem: str) -> None:
    found = problems(PLAIN | change)
    assert (field, problem) in found


def test_a_number_that_is_not_finite_and_a_release_that_is_empty_are_unknown() -> None:
    whole = load(Whole, PLAIN | {"weight": "nan", "release": ""})
    assert (whole.weight, whole.release) == (None, None)


def test_an_unknown_field_is_refused_only_where_documents_are_closed() -> None:
    more = PLAIN | {"nmae": "x", "found": {"ok": True, "value": [], "more": 1}}
    assert load(Whole, more).name == "x"
    with pytest.raises(Mismatched) as caught:
        load(Whole, more, dialect=Dialect(closed=True))
    assert [(each.field, each.hint) for each in caught.value.mismatches] == [
        ("nmae", "did you mean name?"),
        ("found.more", "known: ok, value"),
    ]


def test_the_text_of_a_dialect_is_checked_everywhere() -> None:
    def short(text: str) -> str:
        if len(text) > 4:
            raise ValueError("too long")
        return text

    assert problems(PLAIN | {"name": "long name", "env": {"long name": "x"}}, Dialect(text=short)) == [
        ("name", "too long"),
        ("env.long name", "too long"),
    ]


def test_a_number_that_should_be_text_says_how_to_write_it() -> None:
    with pytest.raises(Mismatched) as caught:
        load(Whole, PLAIN | {"name": 3})
    assert caught.value.mismatches[0].hint == 'write "3"'


def test_a_union_without_a_tag_is_a_mistake_of_ours() -> None:
    with pytest.raises(TypeError, match="tag"):
        load(int | str, 1)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    kind: Colour
    address: Annotated[str, When("kind", "red")] = ""
    seen: Annotated[int, Omitted()] = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    sources: Annotated[tuple[Source, ...], Unique("kind", "address")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    names: Annotated[tuple[str, ...], NotEmpty()]
    ranks: Annotated[tuple[Release, ...], NotEmpty(), Sorted()] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    day: date


def sources(*plain: dict[str, object]) -> Sources | list[tuple[str, str]]:
    try:
        return load(Sources, {"sources": list(plain)}, dialect=Dialect(closed=True))
    except Mismatched as error:
        return [(each.field, each.problem) for each in error.mismatches]


def test_a_field_that_depends_on_another_stands_there_exactly_then() -> None:
    red, blue = Source(kind=Colour.RED), Source(kind=Colour.BLUE)
    assert [dump(each) for each in (red, blue)] == [{"kind": "red", "address": ""}, {"kind": "dark-blue"}]
    assert sources(dump(red), dump(blue)) == Sources(sources=(red, blue))
    assert sources({"kind": "red"}) == [("sources[0].address", "is missing")]
    assert sources({"kind": "green", "address": "x"}) == [
        ("sources[0].kind", "'green' is none of red, dark-blue"),
    ]
    assert sources({"kind": "dark-blue", "address": "x"}) == [("sources[0].address", "is not a known field")]


def test_of_the_fields_of_a_union_without_its_tag_nothing_is_said() -> None:
    wrong = PLAIN | {"found": {"ok": "maybe", "value": [], "more": 1}}
    assert problems(wrong, Dialect(closed=True)) == [("found.ok", "must be true or false")]


def test_the_order_of_a_sorted_list_has_no_meaning() -> None:
    assert load(Names, {"names": ["b", "a"], "ranks": ["2", "10", "1"]}) == Names(
        names=("b", "a"), ranks=(Release("1"), Release("2"), Release("10"))
    )


def test_a_field_that_no_document_has_is_neither_written_nor_read() -> None:
    assert dump(Source(kind=Colour.BLUE, seen=1)) == {"kind": "dark-blue"}
    assert sources({"kind": "dark-blue", "seen": 1}) == [("sources[0].seen", "is not a known field")]


def test_a_list_that_must_not_be_empty_says_so() -> None:
    assert load(Names, {"names": ["a"]}) == Names(names=("a",))
    with pytest.raises(Mismatched, match="names: must have at least one entry"):
        load(Names, {"names": []})


@given(st.dates())
def test_a_day_is_written_as_text(day: date) -> None:
    assert dump(Day(day=day)) == {"day": day.isoformat()}
    assert load(Day, dump(Day(day=day))) == Day(day=day)


def test_entries_that_stand_twice_are_named_beside_other_mismatches() -> None:
    twice: dict[str, object] = {"kind": "red", "address": "x"}
    assert sources(twice, {"kind": "green"}, twice) == [
        ("sources[2].address", "'red x' is a duplicate"),
        ("sources[1].kind", "'green' is none of red, dark-blue"),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Town:
    id: str
    size: int


def pair(value: object) -> tuple[int, int]:
    numbers = load(tuple[int, ...], value)
    if len(numbers) != 2:
        raise ValueError("must be two numbers")
    return numbers[0], numbers[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Road:
    towns: Annotated[tuple[Annotated[Town, Named("towns")], ...], Sorted(by="size")]
    middle: Annotated[Town, Named("towns")] | None = None
    span: Annotated[tuple[int, int], Parsed(pair, of=object, write=list)] = (0, 0)


TOWNS = {name: Town(id=name, size=size) for name, size in (("a", 3), ("b", 2), ("c", 1))}


def road(plain: dict[str, object]) -> Road | list[tuple[str, str, str]]:
    try:
        return load(Road, plain, tables={"towns": TOWNS})
    except Mismatched as error:
        return [(each.field, each.problem, each.hint) for each in error.mismatches]


def test_a_named_value_is_that_of_its_table_and_is_written_as_its_id() -> None:
    plain: dict[str, object] = {"towns": ["c", "a"], "middle": "b"}
    assert road(plain) == Road(towns=(TOWNS["c"], TOWNS["a"]), middle=TOWNS["b"])
    assert dump(Road(towns=(TOWNS["c"], TOWNS["a"]), middle=TOWNS["b"])) == plain


def test_a_name_that_its_table_lacks_is_a_mismatch_with_the_known_ones() -> None:
    assert road({"towns": ["a", "d"], "middle": 1}) == [
        ("towns[1]", "'d' is not in the catalog", "known: a, b, c"),
        ("middle", "must be text", 'write "1"'),
    ]


def test_values_sorted_by_an_attribute_may_have_any_order_in_the_document() -> None:
    assert road({"towns": ["a", "b", "c"]}) == Road(towns=(TOWNS["c"], TOWNS["b"], TOWNS["a"]))


def test_mismatches_inside_a_value_that_a_function_parses_have_their_whole_path() -> None:
    assert road({"towns": [], "span": [1, "x"]}) == [("span[1]", "must be a whole number", "")]
    assert road({"towns": [], "span": [1]}) == [("span", "must be two numbers", "")]


def test_an_empty_text_is_an_unknown_value_only_where_programs_write() -> None:
    assert load(Share, {"user": "", "part": ""}) == Share(user="", part=None)
    with pytest.raises(Mismatched, match="part: must be a number"):
        load(Share, {"user": "", "part": ""}, dialect=Dialect(closed=True))


class Side(TypedDict):
    name: str


class Sheet(TypedDict):
    schema: Literal[1]
    colour: Colour
    day: str
    owner: str | None
    pages: int | None
    sides: list[Side]
    counts: dict[str, int]
    note: NotRequired[str]


PAPER = SimpleNamespace(
    colour=Colour.BLUE, day=date(2021, 5, 5), owner="", pages=0, sides=(SimpleNamespace(name="a"),), counts=(("a", 1),)
)


def test_a_document_has_the_attributes_of_a_value_in_the_order_and_form_of_its_type() -> None:
    written = document_of(Sheet, PAPER)
    assert list(written.items()) == [
        ("schema", 1),
        ("colour", "dark-blue"),
        ("day", "2021-05-05"),
        ("owner", None),
        ("pages", 0),
        ("sides", [{"name": "a"}]),
        ("counts", {"a": 1}),
    ]


def test_what_is_given_to_a_document_replaces_an_attribute() -> None:
    written = document_of(Sheet, PAPER, owner="me", sides=[{"name": "b"}], note="n")
    assert (written["owner"], written["sides"], written["note"]) == ("me", [{"name": "b"}], "n")


def test_a_document_has_no_field_that_its_type_lacks() -> None:
    with pytest.raises(TypeError, match="Sheet has no field size"):
        document_of(Sheet, PAPER, size=1)


def test_a_field_that_may_not_be_null_is_not_none() -> None:
    with pytest.raises(TypeError, match="None is not a value"):
        document_of(Sheet, PAPER, day=None)
