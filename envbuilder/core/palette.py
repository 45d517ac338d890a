"""Colours of terminals by their meaning, readable on dark and on light backgrounds."""

from __future__ import annotations

from enum import IntEnum


class Meaning(IntEnum):
    """The meaning of a text, and its colour: a number among the 256 of xterm.

    The sixteen colours that have names are different in each terminal: on white, the yellow of xterm has a contrast of
    1.7:1, the green of Visual Studio Code one of 2.6:1. Colours from 16 on are the same everywhere. These have at least
    3:1 against the backgrounds that the test lists; no colour has 4.5:1 against all of them. Words say the same as
    colours.

    Source: contrast ratio of WCAG 2.2, https://www.w3.org/TR/WCAG22/#contrast-minimum; computed by
    tests/unit/core/test_palette.py.
    """

    GOOD = 29
    DOUBTFUL = 136
    BAD = 196
    NEUTRAL = 69


UNFILLED = 245
"""The part of a bar that is not filled."""


def color_code(kind: Meaning) -> str:
    """Return the parameters of the control sequence that begins a colour.

    Example:
        >>> color_code(Meaning.GOOD)
        '38;5;29'
    """
    return f"38;5;{kind.value}"
