"""YAML is read with lines, and its surprises are refused."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.errors import InvalidInput
from envbuilder.core.yaml.documents import Mapping, Node, Scalar, Sequence, parse

YAML_SOUP = st.text(alphabet="ab1.:-#&*!|>[]{}\"'\\,?%@~ \n\tyesNo0x_", max_size=60)


def refusal(text: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        parse(text, "file")
    return "\n".join(map(str, caught.value.faults))


def value_of(text: str) -> object:
    node = parse(f"key: {text}", "file")
    assert isinstance(node, Mapping)
    value = node.entries[0][1]
    assert isinstance(value, Scalar)
    return value.value


@given(YAML_SOUP | st.text(max_size=60))
def test_any_text_gives_nodes_or_our_error(text: str) -> None:
    with suppress(InvalidInput):
        assert isinstance(parse(text, "file"), Scalar | Sequence | Mapping)


@given(st.binary(max_size=80))
def test_any_bytes_read_as_latin_1_give_nodes_or_our_error(content: bytes) -> None:
    with suppress(InvalidInput):
        parse(content.decode("latin-1"), "file")


def test_every_node_knows_its_line() -> None:
    node = parse("# comment\nfirst: 1\nsecond:\n  - a\n  - b: c\n", "file")
    expected: Node = Mapping(
        line=2,
        entries=(
            ("first", Scalar(line=2, value=1)),
            (
                "second",
                Sequence(
                    line=4,
                    items=(
                        Scalar(line=4, value="a"),
                        Mapping(line=5, entries=(("b", Scalar(line=5, value="c")),)),
                    ),
                ),
            ),
        ),
    )
    assert node == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'3.10'", "3.10"),
        ("11", 11),
        ("-4", -4),
        ("true", True),
        ("false", False),
        ("null", None),
        ("", None),
        ("'no'", "no"),
        ("two words", "two words"),
        ("!custom x", "x"),
    ],
)
def test_what_cannot_be_mistaken_is_read(text: str, value: object) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("3.10", "a number with a fraction"),
        ("1e3", ""),
        ("no", "true or false"),
        ("On", "true or false"),
        ("True", "true or false"),
        ("0x10", "a number in another base"),
        ("010", "a number in another base"),
        ("1_000", "a number in another base"),
        ("190:20:30", "a number in another base"),
        ("2023-06-01", "a date"),
        (".inf", "a number with a fraction"),
    ],
)
def test_what_yaml_would_reinterpret_is_refused_with_the_quoted_spelling(text: str, reading: str) -> None:
    if not reading:
        assert value_of(text) == text
        return
    told = refusal(f"key: {text}")
    assert told.startswith(f"file:1: key: {text} would be read as {reading}")
    assert told.endswith(f'(write "{text}")')


def test_all_surprises_of_a_document_are_told_together() -> None:
    assert refusal("a: 3.10\nb: [no, 1.5]\na: 1\n").splitlines() == [
        'file:1: a: 3.10 would be read as a number with a fraction (write "3.10")',
        'file:2: b[0]: no would be read as true or false (write "no")',
        'file:2: b[1]: 1.5 would be read as a number with a fraction (write "1.5")',
        "file:3: a: this key is a duplicate",
    ]


def test_a_key_that_is_not_text_is_refused() -> None:
    assert "a key must be plain text" in refusal("[a, b]: 1")


def test_faults_below_a_refused_key_are_not_told_and_those_after_it_are() -> None:
    assert refusal("{a: no}: {b: 1.5}\n<<: {c: on}\nd: off\n").splitlines() == [
        "file:1: a key must be plain text",
        "file:2: a key must be plain text",
        'file:3: d: off would be read as true or false (write "off")',
    ]


def test_a_second_document_is_refused() -> None:
    assert refusal("a: 1\n---\nb: 2\n") == "file:2: not YAML: more than one document"


def test_what_refers_to_itself_is_refused() -> None:
    assert refusal("&a [*a]")


def test_deep_nesting_is_refused() -> None:
    assert "nested" in refusal("[" * 60 + "]" * 60)


def test_an_empty_document_has_no_fields() -> None:
    assert parse("# nothing\n", "file") == Mapping(line=1, entries=())


def test_a_document_nested_without_end_is_a_fault_and_not_a_crash() -> None:
    with pytest.raises(InvalidInput, match="nested deeper"):
        parse("[" * 100_000, "file")


def test_aliases_that_would_grow_without_end_are_a_fault() -> None:
    bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
    with pytest.raises(InvalidInput, match="file:2: an alias; write the value again"):
        parse(bomb, "file")
