"""Lines are broken where colours take no columns and commands stay whole."""

from __future__ import annotations

import click
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.cli.output.folding import filled
from envbuilder.cli.output.printing import folded

_WORDS = st.lists(
    st.tuples(st.text("abc,`-", min_size=1, max_size=9), st.sampled_from([None, "red", "green"])), min_size=1
)


def test_a_command_is_not_broken() -> None:
    text = "next: `envbuilder cache prune` removes files, `envbuilder cache prune --all` everything"
    assert filled(text, 40).split("\n") == [
        "next: `envbuilder cache prune` removes",
        "files, `envbuilder cache prune --all`",
        "everything",
    ]


def test_a_command_that_is_longer_than_a_line_is_broken_at_its_blanks() -> None:
    assert filled("run `one two three`", 10) == "run `one\ntwo three`"


def test_colours_take_no_columns_and_end_with_their_word() -> None:
    mark = click.style("~", fg="yellow")
    assert filled(f"{mark} one two three", 9) == f"{mark} one two\nthree"
    words = click.style("one two", fg="red")
    assert filled(f"{words} three", 5) == "\x1b[31mone\ntwo\x1b[0m\nthree"


@given(_WORDS, st.integers(min_value=10, max_value=40))
def test_colours_change_no_line(words: list[tuple[str, str | None]], columns: int) -> None:
    plain = " ".join(word for word, _ in words)
    styled = " ".join(click.style(word, fg=colour) if colour else word for word, colour in words)
    assert click.unstyle(folded(styled, columns)) == folded(plain, columns)
    assert filled(styled, columns).count("\x1b") == styled.count("\x1b")
