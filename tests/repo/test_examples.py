"""A run of the tests does not fail by chance: its examples are the same ones each time."""

from __future__ import annotations

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.conftest import EXPLORE


@pytest.mark.parametrize("profile", ["house", "thorough", "brief"])
def test_the_profiles_of_make_draw_the_same_examples_each_time(profile: str) -> None:
    assert settings.get_profile(profile).derandomize


def drawn() -> list[str]:
    """Return the examples of a property with a seed, drawn anew."""
    seen: list[str] = []

    @seed(13)
    @settings(max_examples=200, database=None, derandomize=False)
    @given(st.text())
    def draw(text: str) -> None:
        seen.append(text)

    providers.CONSTANTS_CACHE.cache.clear()
    draw()
    return seen


def test_examples_do_not_depend_on_the_modules_that_were_imported(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    if pytestconfig.getoption("--hypothesis-profile") != EXPLORE:
        assert not len(providers._get_local_constants())
    monkeypatch.setattr(providers, "_get_local_constants", lambda: Constants(strings={"from a module"}))
    assert "from a module" in drawn(), "hypothesis takes constants from elsewhere: tests/conftest.py empties nothing"
    monkeypatch.undo()
    assert drawn() == drawn()
