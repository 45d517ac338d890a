"""Canonical YAML reads back as what was written."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.yaml.canonical import Plain, dump
from envbuilder.core.yaml.documents import parse
from envbuilder.core.yaml.structured import plain_of

TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=0x7E) | st.sampled_from("\n\t\0äß€語😀"), max_size=20)
KEYS = st.text(st.characters(min_codepoint=32, max_codepoint=0x7E), min_size=1, max_size=12)
VALUES: st.SearchStrategy[Plain] = st.recursive(
    TEXTS | st.integers(-(10**17), 10**17) | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_a_dumped_value_parses_as_itself(value: dict[str, Plain]) -> None:
    assert plain_of(parse(dump(value), "file")) == value


@given(st.dictionaries(KEYS, VALUES, max_size=5))
def test_equal_values_are_equal_bytes_and_end_with_a_line_end(value: dict[str, Plain]) -> None:
    text = dump(value)
    assert dump(plain_of_mapping(text)) == text
    assert not text or text.endswith("\n")


def plain_of_mapping(text: str) -> dict[str, Plain]:
    value = plain_of(parse(text, "file"))
    assert isinstance(value, dict)
    return value


def test_every_text_is_quoted_so_that_no_rule_of_yaml_applies() -> None:
    assert dump({"version": "3.10", "answer": "no", "empty": "", "list": [], "fields": {}}) == (
        'version: "3.10"\nanswer: "no"\nempty: ""\nlist: []\nfields: {}\n'
    )


def test_order_is_the_writers() -> None:
    assert dump({"b": 1, "a": 2}) == "b: 1\na: 2\n"


def test_lists_in_lists_keep_their_shape() -> None:
    value: dict[str, Plain] = {"a": [[1, [2, {"b": [3]}]], {"c": {}, "d": [[]]}]}
    assert plain_of(parse(dump(value), "file")) == value
