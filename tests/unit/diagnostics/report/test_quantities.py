"""Numbers as people read them."""

from __future__ import annotations

import pytest

from envbuilder.diagnostics.checks.results import Figure
from envbuilder.diagnostics.report.summary import described


@pytest.mark.parametrize(
    ("low", "high", "says"),
    [
        (None, None, "8.1 µs"),
        (7.7, 21.4, "8.1 µs (7.7 to 21.4 µs)"),
        (0.9, 1500, "8.1 µs (0.9 µs to 1.5 ms)"),
        (None, 21.4, "8.1 µs (up to 21.4 µs)"),
        (7.7, None, "8.1 µs (from 7.7 µs)"),
    ],
)
def test_a_spread_names_its_unit_once_where_it_can(low: float | None, high: float | None, says: str) -> None:
    assert described(Figure(name="x", value=8.1, unit="us", low=low, high=high)) == says
