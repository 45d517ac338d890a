"""One way to write JSON."""

import json

from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.canonical_json import canonical_json, indented_json, inputs_digest

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(value=_VALUES)
def test_what_is_written_reads_back_as_the_same_value(value: object) -> None:
    assert json.loads(canonical_json(value)) == json.loads(indented_json(value)) == value


@given(fields=st.dictionaries(st.text(), st.integers()))
def test_the_order_of_fields_makes_no_difference(fields: dict[str, int]) -> None:
    other = dict(reversed(fields.items()))
    assert canonical_json(fields) == canonical_json(other)
    assert inputs_digest(fields) == inputs_digest(other)


def test_a_file_name_that_is_not_utf_8_is_kept() -> None:
    name = b"lib\xff.so".decode("utf-8", "surrogateescape")
    assert json.loads(canonical_json([name])) == [name]


def test_digests_of_inputs_keep_the_form_that_locks_and_registries_hold() -> None:
    assert inputs_digest({"b": "ü", "a": [1, 2]}) == (
        "sha256:abf2e4696de6beedf4a8d639cd4dfa17b74740624910f48e621b1d3a8e2ab2d3"
    )
