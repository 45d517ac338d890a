"""The colours of the terminal can be read on the backgrounds that terminals have."""

from __future__ import annotations

import itertools

import pytest

from envbuilder.cli.output.terminal import UNFILLED, Meaning

BACKGROUNDS = {
    "xterm, dark": "000000",
    "Windows Terminal": "0c0c0c",
    "Visual Studio Code, dark": "1e1e1e",
    "One Dark": "282c34",
    "Solarized Dark": "002b36",
    "Ubuntu": "300a24",
    "xterm, light": "ffffff",
    "One Light": "fafafa",
    "GNOME, light": "f6f5f4",
    "Solarized Light": "fdf6e3",
}
LEAST = 3.0
_STEPS = (0, 95, 135, 175, 215, 255)


def rgb(number: int) -> tuple[int, int, int]:
    """The components of one of the 256 colours of xterm, from 16 on."""
    if number >= 232:
        return (8 + 10 * (number - 232),) * 3
    place = number - 16
    return _STEPS[place // 36], _STEPS[place // 6 % 6], _STEPS[place % 6]


def luminance(components: tuple[int, int, int]) -> float:
    """Relative luminance of WCAG 2.2."""
    parts = [each / 255 for each in components]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    """Contrast ratio of WCAG 2.2, from 1 to 21."""
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def test_the_ratio_is_that_of_the_standard() -> None:
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((0x77, 0x77, 0x77), (255, 255, 255)) == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize("number", [*Meaning, UNFILLED])
def test_every_colour_has_contrast_on_every_background(number: int, background: str) -> None:
    red, green, blue = bytes.fromhex(BACKGROUNDS[background])
    assert contrast(rgb(number), (red, green, blue)) >= LEAST


def test_no_two_meanings_look_alike() -> None:
    for one, other in itertools.combinations(Meaning, 2):
        assert sum(abs(a - b) for a, b in zip(rgb(one), rgb(other), strict=True)) >= 200
