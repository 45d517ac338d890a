"""LZ4 blocks: packed by the test, unpacked by us."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.corrupt_file import Damaged
from envbuilder.curation.wheel_audit.lz4 import unpack_start
from tests.unit.curation.wheel_audit.wheels import lz4, ptx

repetitive = st.lists(st.sampled_from([b"ld.param.u64 ", b"\t.reg ", b"x", b"\n"]), max_size=400).map(b"".join)


@given(text=st.binary(max_size=600) | repetitive, limit=st.integers(min_value=1, max_value=5000))
def test_what_was_packed_comes_out_again_as_far_as_it_is_wanted(text: bytes, limit: int) -> None:
    assert unpack_start(lz4(text), limit) == text[:limit]


def test_a_long_run_and_long_literals_take_several_length_bytes() -> None:
    text = bytes(range(256)) * 2 + b"a" * 3000 + bytes(range(255, -1, -1))
    assert unpack_start(lz4(text), len(text)) == text
    assert len(lz4(text)) < len(text) / 2


def test_the_beginning_of_a_block_is_enough_for_the_beginning_of_the_text() -> None:
    text = ptx("8.5", "sm_90a")
    block = lz4(text)
    assert len(block) > 400
    assert text.startswith(unpack_start(block[:400], 2048))


def test_a_block_may_end_with_a_repetition() -> None:
    assert unpack_start(b"\x10a\x01\x00", 100) == b"aaaaa"


def test_a_huge_run_is_not_unpacked_beyond_what_is_wanted() -> None:
    assert unpack_start(b"\x1fa\x01\x00" + b"\xff" * 1_000_000 + b"\x00", 10) == b"a" * 10


@pytest.mark.parametrize("block", [b"\x00\x01\x00", b"\x10a\x02\x00", b"\x10a\x00\x00"])
def test_a_repetition_of_what_was_never_there_is_damage(block: bytes) -> None:
    with pytest.raises(Damaged, match="LZ4"):
        unpack_start(block, 100)


@given(block=st.binary(max_size=300))
def test_any_bytes_give_a_text_of_limited_length_or_damage(block: bytes) -> None:
    with suppress(Damaged):
        assert len(unpack_start(block, 64)) <= 64
