"""Severities come from CVSS 3 vectors by the published formula, else from the words of a database."""

from __future__ import annotations

import pytest

from envbuilder.diagnostics.vulnerabilities.rating import Rating, base_score, rating_of_score, rating_of_word


@pytest.mark.parametrize(
    ("vector", "score"),
    [
        # Scores of the library cvss 3.6, which agrees for all 5,184 base vectors of 3.0 and 3.1 (2026-11-22).
        ("CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:C/C:H/I:H/A:H", 10.0),
        ("CVSS:3.1/AV:N/AC:L/PR:L/UI:N/S:C/C:L/I:L/A:N", 6.4),
        ("CVSS:3.1/AV:L/AC:H/PR:H/UI:R/S:U/C:N/I:L/A:L", 2.9),
        ("CVSS:3.1/AV:P/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H", 6.8),
        ("CVSS:3.0/AV:N/AC:H/PR:H/UI:N/S:C/C:L/I:L/A:N", 4.4),
        ("CVSS:3.1/AV:N/AC:H/PR:H/UI:N/S:C/C:L/I:L/A:N", 4.4),
        ("CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:N", 0.0),
        ("CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H/E:P/RL:O", 9.8),
    ],
)
def test_base_scores_are_those_of_the_specification(vector: str, score: float) -> None:
    assert base_score(vector) == score


@pytest.mark.parametrize(
    "vector",
    ["", "AV:N/AC:L/Au:N/C:P/I:P/A:P", "CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N", "medium"],
)
def test_other_vectors_have_no_score(vector: str) -> None:
    assert base_score(vector) is None


def test_scores_and_words_are_rated() -> None:
    assert [rating_of_score(score).value for score in (0.0, 3.9, 4.0, 6.9, 7.0, 8.9, 9.0)] == [
        "low", "low", "medium", "medium", "high", "high", "critical",
    ]  # fmt: skip
    words = ("MODERATE", "High", "unimportant", "not yet assigned", "")
    assert [rating_of_word(word) for word in words] == [
        Rating.MEDIUM, Rating.HIGH, Rating.LOW, Rating.UNKNOWN, Rating.UNKNOWN,
    ]  # fmt: skip
