"""Versions are ordered as dpkg orders them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.image.base.deb.versions import compare, fits, newest

VERSIONS = st.builds(
    lambda epoch, upstream, revision: f"{epoch}{upstream}{revision}",
    st.sampled_from(["", "0:", "1:", "2:"]),
    st.text("01289.+~ab", max_size=6).map(lambda text: f"1{text}"),
    st.text("019.+~a", max_size=4).map(lambda text: f"-{text}" if text else ""),
)


def sign(number: int) -> int:
    return (number > 0) - (number < 0)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("1.0~rc1", "1.0"),
        ("2", "1:0"),
        ("2.0", "1:0.5"),
        ("1.0-1", "1.0-1+b1"),
        ("2.36-9+deb12u9", "2.36-9+deb12u10"),
        ("1a", "1b"),
        ("1.0a", "1.0+"),
        ("1.2", "1.10"),
        ("1.0", "1.0-1"),
        ("1.0~~", "1.0~~a"),
        ("1.0~~a", "1.0~"),
        ("1.0~", "1.0"),
        ("1.0", "1.0a"),
        ("1.0-1~bpo12+1", "1.0-1"),
        ("1-2-3", "1-2-10"),
        ("1.2-9", "1.2.1-1"),
        ("1-1", "1-0-1"),
    ],
)
def test_the_order_is_debian_s(older: str, newer: str) -> None:
    assert compare(older, newer) < 0 < compare(newer, older)
    assert max([newer, older], key=newest) == newer


@pytest.mark.parametrize(("one", "two"), [("1.2.3", "1.2.03"), ("0:1", "1"), ("1.0-0", "1.0"), ("1.0.", "1.0.0")])
def test_what_looks_different_can_be_equal(one: str, two: str) -> None:
    assert compare(one, two) == 0


def test_a_relation_is_judged_by_the_order() -> None:
    judged = {relation: fits("1.0", relation, "1.0") for relation in ("<<", "<=", "=", ">=", ">>")}
    assert judged == {"<<": False, "<=": True, "=": True, ">=": True, ">>": False}
    assert fits("1.0~rc1", "<<", "1.0")
    assert fits("1:0", ">>", "2")
    assert not fits("2.36-9+deb12u9", ">=", "2.36-9+deb12u10")


@given(VERSIONS, VERSIONS)
def test_the_other_way_round_the_answer_is_the_opposite(one: str, two: str) -> None:
    assert sign(compare(one, two)) == -sign(compare(two, one))


@given(VERSIONS, VERSIONS, VERSIONS)
def test_the_order_has_no_circles(one: str, two: str, three: str) -> None:
    low, middle, high = sorted([one, two, three], key=newest)
    assert compare(low, middle) <= 0
    assert compare(middle, high) <= 0
    assert compare(low, high) <= 0


@given(VERSIONS)
def test_a_version_equals_itself_and_is_newer_than_what_comes_before_it(version: str) -> None:
    assert compare(version, version) == 0
    assert compare(f"{version}~", version) < 0


def test_numbers_of_any_length_are_compared() -> None:
    assert compare("1" * 5000, "2" + "1" * 4999) < 0 < compare("1" * 5000, "9" * 4999)
    assert compare("1" * 5000 + ":1", "2:1") > 0
    assert compare("²:1", "1") != 0
    assert compare("1.²", "1.3") > 0
