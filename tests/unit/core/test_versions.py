"""Releases are ordered by value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.versions import Release, release_of

RELEASES = st.lists(st.integers(0, 30), min_size=1, max_size=4).map(lambda parts: Release(".".join(map(str, parts))))


@given(RELEASES, RELEASES)
def test_exactly_one_of_less_equal_and_greater_holds(one: Release, other: Release) -> None:
    assert [one < other, one == other, one > other].count(True) == 1
    assert (one <= other) == (not one > other)


@given(RELEASES, RELEASES, RELEASES)
def test_order_is_transitive(one: Release, two: Release, three: Release) -> None:
    low, middle, high = sorted((one, two, three))
    assert low <= middle <= high
    assert low <= high


@given(RELEASES, st.integers(0, 3))
def test_zeros_at_the_end_and_before_a_number_do_not_matter(release: Release, count: int) -> None:
    longer = Release(release.text + ".0" * count)
    padded = Release(".".join(part.zfill(3) for part in release.text.split(".")))
    assert longer == release == padded
    assert len({longer, release, padded}) == 1


@given(RELEASES)
def test_a_release_prints_as_it_was_written(release: Release) -> None:
    assert Release(str(release)).text == release.text


@given(RELEASES, st.integers(1, 6))
def test_a_head_has_the_length_that_was_asked_for(release: Release, count: int) -> None:
    assert len(release.head(count)) == count


def test_numbers_are_compared_as_numbers() -> None:
    assert Release("3.9") < Release("3.10")
    assert Release("450.51.06") < Release("450.80.02")


def test_a_release_is_not_equal_to_its_text() -> None:
    assert Release("3.8") != "3.8"


@pytest.mark.parametrize("text", ["", "3.", ".3", "3.8rc1", "v3", "3..8", "3 8", "-1", "3.8\n"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a dotted release number"):
        Release(text)


@pytest.mark.parametrize("text", ["9" * 19, "1." * 40 + "1", "\N{ARABIC-INDIC DIGIT ONE}.2", "", "1.", "\xb2"])
def test_a_text_from_outside_that_is_no_release_is_none(text: str) -> None:
    assert release_of(text) is None
