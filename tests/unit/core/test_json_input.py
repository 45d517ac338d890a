"""JSON from outside, within bounds."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.json_input import BadJson, load_json, load_object

_NUMBERS = st.integers(min_value=-(2**63), max_value=2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
_VALUES = st.recursive(
    st.none() | st.booleans() | _NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b"[" * 100 + b"]" * 100,
        b'{"a":' * 65 + b"1" + b"}" * 65,
        b'{"a": 1, "a": 2}',
        b'{"b": {"a": 1, "a": 2}}',
        b"9" * 5000,
        b"-" + b"9" * 21,
        b"1e400",
        b"-1e400",
        b"NaN",
        b"[Infinity]",
        b'"\\ud800"',
        b'{"\\udfff": 1}',
        b"\xff\xfe\x00",
        b'"\xed\xa0\x80"',
        b"[1" + b" " * (65 << 20) + b"]",
    ],
    ids=lambda content: repr(content[:20]),
)
def test_what_passes_a_limit_is_refused(content: bytes) -> None:
    with pytest.raises(BadJson):
        load_json(content)


def test_halves_of_surrogate_pairs_are_read_where_they_are_wanted() -> None:
    assert load_json(b'"\\ud800"', surrogates=True) == "\ud800"
    assert load_json(b'"\\ud83d\\ude00"') == "\N{GRINNING FACE}"


def test_an_object_is_one() -> None:
    assert load_object("{}") == {}
    with pytest.raises(BadJson, match="not an object"):
        load_object("[]")


@given(_VALUES)
def test_what_is_written_is_read(value: object) -> None:
    assert load_json(json.dumps(value)) == value
    assert load_json(json.dumps(value, ensure_ascii=False).encode()) == value


@given(st.binary())
def test_any_bytes_give_a_value_or_our_error(content: bytes) -> None:
    with suppress(BadJson):
        load_json(content)
