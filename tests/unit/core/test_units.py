"""Sizes in binary units."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.units import quantity, size

_UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1_234_567_890, "1.15 GiB"),
        ((1 << 20) - 1, "1 MiB"),
        (1000 << 20, "1000 MiB"),
        (5 << 50, "5120 TiB"),
    ],
)
def test_a_size_has_three_digits_and_a_binary_unit(count: int, shown: str) -> None:
    assert size(count) == shown


@given(count=st.integers(min_value=0, max_value=1 << 50))
def test_what_is_shown_is_near_what_was_counted(count: int) -> None:
    number, unit = size(count).split()
    assert abs(float(number) * _UNITS[unit] - count) <= count * 0.005


@pytest.mark.parametrize(
    ("value", "unit", "says"),
    [
        (0, "bytes", "0 B"),
        (1023, "bytes", "1023 B"),
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
