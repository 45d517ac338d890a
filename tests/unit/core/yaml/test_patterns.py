"""Regular expressions out of data are bounded."""

from __future__ import annotations

import pytest

from envbuilder.core.yaml.patterns import pattern


@pytest.mark.parametrize(
    "text", ["a", r"\d{1,3}", r"(?:a|b{1,9})?c", r"(?P<x>[a-z]{2,40}?)\b", r"(?<!a)b(?!.{0,300}c)"]
)
def test_a_bounded_pattern_is_accepted(text: str) -> None:
    assert pattern(text) == text


@pytest.mark.parametrize(
    "text", ["a+", "a*", ".*x", r"(?:ab{1,3}){2,4}", "(a|b{0,9}){3}", "a{1,401}", "(?=a+)", "(?>a+)", "((a{2}){2}"]
)
def test_a_pattern_that_a_line_could_make_slow_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"repetition|regular expression"):
        pattern(text)
