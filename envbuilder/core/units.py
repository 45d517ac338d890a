"""Numbers with units for output."""

from __future__ import annotations

from collections.abc import Sequence

_DIGITS = 3
# Largest first; a quantity is written in the first one that does not exceed it, else in the last.
_BYTES = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B"))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_SCALES: dict[str, tuple[float, Sequence[tuple[float, str]]]] = {
    "bytes": (1.0, _BYTES),
    "s": (1.0, _TIMES),
    "ms": (1e-3, _TIMES),
    "us": (1e-6, _TIMES),
}


def size(count: float) -> str:
    """Return a number of bytes in binary units.

    Example:
        >>> size(42949672960), size(64 << 20), size(900)
        ('40 GiB', '64 MiB', '900 B')
    """
    return quantity(count, "bytes")


def quantity(value: float, unit: str) -> str:
    """Return a number with its unit and three significant digits; bytes and times in a suitable unit.

    Example:
        >>> quantity(25276502016, "bytes"), quantity(0.0461, "s"), quantity(8.4, "us"), quantity(412.25, "TFLOP/s")
        ('23.5 GiB', '46.1 ms', '8.4 µs', '412 TFLOP/s')
    """
    if unit not in _SCALES:
        return f"{_digits(value)} {unit}".rstrip()
    factor, scale = _SCALES[unit]
    # Round first, so that 1023.9 KiB becomes 1 MiB, not 1024 KiB.
    step, name = next((step for step in scale if abs(value * factor) / step[0] >= 0.9995), scale[-1])
    return f"{_digits(value * factor / step)} {name}"


def _digits(value: float) -> str:
    """Return three significant digits, but at least all of the integer part."""
    if abs(value) >= 10 ** (_DIGITS - 1) and abs(value) < 1e15:
        return f"{value:.0f}"
    return f"{value:.{_DIGITS}g}"
