"""Memory policies and their canonical text."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.memory_policy import ALL, GROWTH, LEAST, GpuMemory, Way, parse, together

SHARES = st.integers(1, 10**6).map(lambda part: GpuMemory(way=Way.FRACTION, share=Decimal(part).scaleb(-6).normalize()))
LIMITS = st.integers(LEAST, 10**12).map(lambda size: GpuMemory(way=Way.LIMIT, limit=size))
ONES = st.sampled_from([GpuMemory(way=Way.GROWTH)]) | SHARES | LIMITS


@given(st.lists(ONES, min_size=1, max_size=4).map(tuple))
def test_the_text_of_a_policy_is_read_back_as_the_same_text(gpus: tuple[GpuMemory, ...]) -> None:
    policy = together(gpus)
    assert str(parse(str(policy))) == str(policy)
    assert [gpu.limit for gpu in parse(str(policy)).gpus] == [gpu.limit for gpu in gpus]


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("all", "all"),
        ("fraction:0.80", "fraction:0.8"),
        ("fraction:1.0", "fraction:1"),
        ("limit:4096MiB", "limit:4GiB"),
        ("limit:5000MB", "limit:5GB"),
        ("limit:1536MiB", "limit:1536MiB"),
        ("limit:4294967296", "limit:4GiB"),
        ("limit:4GiB, growth", "limit:4GiB,growth"),
        ("async-allocator", "async-allocator"),
    ],
)
def test_one_policy_has_one_text(written: str, canonical: str) -> None:
    assert str(parse(written)) == canonical


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("", "is not a memory policy"),
        ("half", "is not a memory policy"),
        ("growth:1", "is not a memory policy"),
        ("fraction:0", "must be > 0 and <= 1"),
        ("fraction:1.1", "must be > 0 and <= 1"),
        ("fraction:1e-1", "must be > 0 and <= 1"),
        ("limit:4", "less than 256MiB"),
        ("limit:255MiB", "less than 256MiB"),
        ("limit:4.5GiB", "is not a size"),
        ("limit:4TB", "is not a size"),
        ("growth,async-allocator", "cannot be combined"),
        ("async-allocator,async-allocator", "cannot be combined"),
        ("all,growth", "mutually exclusive"),
    ],
)
def test_what_is_no_policy_is_refused_with_the_reason(written: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse(written)


def test_only_all_is_what_tensorflow_does_by_itself() -> None:
    assert ALL.is_default
    assert parse("all,all").is_default
    assert not GROWTH.is_default
    assert parse("async-allocator").is_async
