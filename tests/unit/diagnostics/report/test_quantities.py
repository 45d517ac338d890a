"""Numbers as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.diagnostics.checks.results import Figure
from envbuilder.diagnostics.report.quantities import described, quantity


@pytest.mark.parametrize(
    ("value", "unit", "says"),
    [
        (0, "bytes", "0 bytes"),
        (1023, "bytes", "1023 bytes"),
        (1024 * 1023.99, "bytes", "1 MiB"),
        (42_949_672_960, "bytes", "40 GiB"),
        (0, "s", "0 µs"),
        (0.0042, "s", "4.2 ms"),
        (0.99999, "s", "1 s"),
        (900, "s", "900 s"),
        (1500, "us", "1.5 ms"),
        (17.94, "TFLOP/s", "17.9 TFLOP/s"),
        (12, "", "12"),
        (1234567, "images/s", "1234567 images/s"),
        (-3.14159, "K", "-3.14 K"),
    ],
)
def test_a_quantity_has_three_digits_and_a_unit_that_suits_it(value: float, unit: str, says: str) -> None:
    assert quantity(value, unit) == says


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["s", "us", "ms", "bytes", "x"]))
def test_every_number_can_be_written(value: float, unit: str) -> None:
    assert len(quantity(value, unit)) < 30


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
