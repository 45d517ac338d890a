"""Severity of vulnerabilities: ratings, and the base score of CVSS 3 vectors."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from enum import StrEnum


class Rating(StrEnum):
    """Qualitative severity of a vulnerability, worst first; `unknown` if its documents state none."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    UNKNOWN = "unknown"

    @property
    def rank(self) -> int:
        """Position from 0, the worst."""
        return list(Rating).index(self)


_WORDS = {
    "critical": Rating.CRITICAL,
    "high": Rating.HIGH,
    "medium": Rating.MEDIUM,
    "moderate": Rating.MEDIUM,
    "low": Rating.LOW,
    "negligible": Rating.LOW,
    "unimportant": Rating.LOW,
}
"""Words of GitHub, Debian (https://security-team.debian.org/security_tracker.html) and Ubuntu
(https://ubuntu.com/security/cves/about#priority)."""

_FLOORS = ((9.0, Rating.CRITICAL), (7.0, Rating.HIGH), (4.0, Rating.MEDIUM))
"""Scores from which a rating applies. Source: CVSS 3.1, section 5, https://www.first.org/cvss/v3.1/specification-document"""

_VECTOR = re.compile(
    r"CVSS:3\.[01]/AV:(?P<AV>[NALP])/AC:(?P<AC>[LH])/PR:(?P<PR>[NLH])/UI:(?P<UI>[NR])/S:(?P<S>[UC])"
    r"/C:(?P<C>[NLH])/I:(?P<I>[NLH])/A:(?P<A>[NLH])(?:/.*)?"
)
_WEIGHTS: Mapping[str, Mapping[str, float]] = {
    "AV": {"N": 0.85, "A": 0.62, "L": 0.55, "P": 0.2},
    "AC": {"L": 0.77, "H": 0.44},
    "UI": {"N": 0.85, "R": 0.62},
    "impact": {"N": 0.0, "L": 0.22, "H": 0.56},
}
_PRIVILEGES = {"U": {"N": 0.85, "L": 0.62, "H": 0.27}, "C": {"N": 0.85, "L": 0.68, "H": 0.5}}


def rating_of_word(word: str) -> Rating:
    """Return the rating for a word of a database; `unknown` for any other text."""
    return _WORDS.get(word.strip().lower(), Rating.UNKNOWN)


def rating_of_score(score: float) -> Rating:
    """Return the rating of a CVSS 3 score."""
    return next((rating for floor, rating in _FLOORS if score >= floor), Rating.LOW)


def base_score(vector: str) -> float | None:
    """Return the base score of a CVSS 3.0 or 3.1 vector; None if it is not one.

    Temporal and environmental metrics of the vector are ignored.

    Source: https://www.first.org/cvss/v3.1/specification-document, sections 7.1 and 7.4, and appendix A. Base
    scores of 3.0 are the same for all vectors (compared with the library cvss 3.6, 2026-11-22).

    Example:
        >>> base_score("CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H")
        9.8
    """
    found = _VECTOR.fullmatch(vector)
    if found is None:
        return None
    changed = found["S"] == "C"
    confidentiality, integrity, availability = (_WEIGHTS["impact"][found[name]] for name in "CIA")
    loss = 1 - (1 - confidentiality) * (1 - integrity) * (1 - availability)
    impact = 7.52 * (loss - 0.029) - 3.25 * (loss - 0.02) ** 15 if changed else 6.42 * loss
    if impact <= 0:
        return 0.0
    ease = 8.22 * _PRIVILEGES[found["S"]][found["PR"]]
    for name in ("AV", "AC", "UI"):
        ease *= _WEIGHTS[name][found[name]]
    total = min(1.08 * (impact + ease) if changed else impact + ease, 10.0)
    # Rounded up to the next tenth, without the inexact last digits of a float:
    # https://www.first.org/cvss/v3.1/specification-document, appendix A.
    return math.ceil(round(total * 100_000) / 10_000) / 10
