"""Fields are read with types, and every fault is told once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from enum import StrEnum

import pytest

from envbuilder.core.errors import InvalidInput
from envbuilder.core.versions import Release
from envbuilder.core.yaml.documents import parse
from envbuilder.core.yaml.fields import Fields, Reader, line_of


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


def read(text: str, use: Callable[[Fields], object]) -> object:
    reader = Reader("file")
    value = use(reader.root(parse(text, "file")))
    reader.finish()
    return value


def faults(text: str, use: Callable[[Fields], object]) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        read(text, use)
    return [str(fault) for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("text", "use", "value"),
    [
        ("a: x", lambda root: root.text("a"), "x"),
        ("{}", lambda root: root.text("a", "spare"), "spare"),
        ("a: ~", lambda root: root.text("a", "spare"), "spare"),
        ("a: '11.0'", lambda root: root.release("a"), Release("11.0")),
        ("a: '2023-06-01'", lambda root: root.day("a"), date(2023, 6, 1)),
        ("a: true", lambda root: root.flag("a", default=False), True),
        ("{}", lambda root: root.flag("a", default=True), True),
        ("a: 0", lambda root: root.integer("a", 5), 0),
        ("{}", lambda root: root.integer("a", 5), 5),
        ("a: blue", lambda root: root.choice("a", Colour), Colour.BLUE),
        ("{}", lambda root: root.choice("a", Colour, Colour.RED), Colour.RED),
        ("a: [y, x]", lambda root: root.texts("a", str), ("y", "x")),
        ("{}", lambda root: root.texts("a", str), ()),
        ("a: {y: '1', x: '2'}", lambda root: root.pairs("a", str), (("y", "1"), ("x", "2"))),
        ("a: [{b: x}, {b: y}]", lambda root: tuple(each.text("b") for each in root.children("a")), ("x", "y")),
        ("a: {b: {c: x}}", lambda root: root.child("a").child("b").text("c"), "x"),
    ],
)
def test_a_right_field_is_read(text: str, use: Callable[[Fields], object], value: object) -> None:
    assert read(text, use) == value


@pytest.mark.parametrize(
    ("text", "use", "told"),
    [
        ("{}", lambda root: root.text("a"), "file:1: a: is missing"),
        ("{}", lambda root: root.integer("a"), "file:1: a: is missing"),
        ("{}", lambda root: root.child("a").text("b"), "file:1: a: is missing"),
        ("{}", lambda root: root.texts("a", str, required=True), "file:1: a: is missing"),
        ("{}", lambda root: root.children("a", required=True), "file:1: a: is missing"),
        ("a: 5", lambda root: root.text("a"), 'file:1: a: must be text (write "5")'),
        ("a: true", lambda root: root.text("a"), 'file:1: a: must be text (write "true")'),
        ("a: [x]", lambda root: root.text("a"), "file:1: a: must be text"),
        ("a: true", lambda root: root.integer("a"), "file:1: a: must be a whole number"),
        ("a: 1", lambda root: root.flag("a", default=False), "file:1: a: must be true or false"),
        ("a: green", lambda root: root.choice("a", Colour), "file:1: a: 'green' is none of red, blue"),
        ("a: x", lambda root: root.texts("a", str), "file:1: a: must be a list"),
        ("a: x", lambda root: root.children("a"), "file:1: a: must be a list"),
        ("a: [x]", lambda root: root.children("a"), "file:1: a[0]: must have fields (`name: value`)"),
        ("a: x", lambda root: root.child("a").text("b"), "file:1: a: must have fields (`name: value`)"),
        ("a: x", lambda root: root.pairs("a", str), "file:1: a: must have fields (`name: value`)"),
        ("a: {b: 1}", lambda root: root.pairs("a", str), 'file:1: a.b: must be text (write "1")'),
        ("a: x\nb: y", lambda root: root.text("a"), "file:2: b: is not a known field (known: a)"),
        ('a: "x\\ny"', lambda root: root.text("a"), "file:1: a: must be printable text on one line"),
        ('a: "x\\0y"', lambda root: root.text("a"), "file:1: a: must be printable text on one line"),
        ("a: [x, [y]]", lambda root: root.texts("a", str), "file:1: a[1]: must be text"),
    ],
)
def test_a_wrong_field_is_one_fault(text: str, use: Callable[[Fields], object], told: str) -> None:
    assert faults(text, use) == [told]


def test_an_unknown_field_suggests_the_nearest_known_one() -> None:
    assert faults("pakages: []", lambda root: root.texts("packages", str)) == [
        "file:1: pakages: is not a known field (did you mean packages?)"
    ]


def test_the_line_of_a_path_is_that_of_its_deepest_part_that_is_there() -> None:
    node = parse("a:\n  - b: 1\n    c: 2\n  - d: 3\n", "file")
    assert [line_of(node, path) for path in ("a[0].c", "a[1].d", "a[1].gone", "a[7].b", "z", "a[0].b.deeper")] == [
        3, 4, 4, 2, 1, 2,
    ]  # fmt: skip
