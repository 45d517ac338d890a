"""Figures of reports in words."""

from __future__ import annotations

from envbuilder.core.units import quantity
from envbuilder.diagnostics.checks.results import Figure


def spread(figure: Figure) -> str:
    """Return the spread of a figure, such as `7.9 to 21 µs`; empty without one."""
    low = "" if figure.low is None else quantity(figure.low, figure.unit)
    high = "" if figure.high is None else quantity(figure.high, figure.unit)
    if low and high:
        unit = f" {high.partition(' ')[2]}"
        return f"{low.removesuffix(unit)} to {high}"
    return f"from {low}" if low else f"up to {high}" if high else ""


def described(figure: Figure) -> str:
    """Return value and spread in one phrase."""
    between = spread(figure)
    return f"{quantity(figure.value, figure.unit)} ({between})" if between else quantity(figure.value, figure.unit)
