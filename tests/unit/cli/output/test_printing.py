"""Tables on a terminal and in a pipe."""

from __future__ import annotations

import shlex
import sys

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.cli.output.printing import folded, meaning, shell_lines, table
from envbuilder.cli.output.terminal import Meaning

HEADER = ("ID", "LAYER")
ROWS = [("1", "Python 3.11 from the OS"), ("2", "the lock and the probe")]


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    return monkeypatch


def test_the_last_column_is_folded_on_a_narrow_terminal(on_terminal: pytest.MonkeyPatch) -> None:
    on_terminal.setenv("COLUMNS", "18")
    lines = table(HEADER, ROWS).splitlines()
    assert max(map(len, lines[1:])) <= 18
    assert lines[1:3] == ["1   Python 3.11", "    from the OS"]


def test_a_cell_whose_words_have_no_room_in_its_column_has_the_next_line(on_terminal: pytest.MonkeyPatch) -> None:
    on_terminal.setenv("COLUMNS", "20")
    rows = [("a-long-identifier", "short"), ("b", "x"), ("c", "Python-3.11 of it")]
    header, *lines = click.unstyle(table(HEADER, rows)).splitlines()
    assert header == "ID                 LAYER"
    assert lines == [
        "a-long-identifier",
        "    short",
        "b                  x",
        "c",
        "    Python-3.11 of",
        "    it",
    ]


def test_a_row_is_one_line_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "18")
    assert table(HEADER, ROWS).splitlines()[1] == "1   Python 3.11 from the OS"


def test_an_optional_last_column_is_left_out_instead(on_terminal: pytest.MonkeyPatch) -> None:
    on_terminal.setenv("COLUMNS", "18")
    assert click.unstyle(table(HEADER, ROWS, optional=1)).splitlines() == ["ID", "1", "2"]
    on_terminal.setenv("COLUMNS", "28")
    assert table(HEADER, ROWS, optional=1) == table(HEADER, ROWS)


def test_an_optional_last_column_is_kept_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "18")
    assert table(HEADER, ROWS, optional=1) == table(HEADER, ROWS)


def test_any_column_may_be_the_one_that_is_left_out(on_terminal: pytest.MonkeyPatch) -> None:
    rows = [("1", "an-id-that-is-long", "layer")]
    on_terminal.setenv("COLUMNS", "20")
    assert click.unstyle(table(("", "ID", "LAYER"), rows, optional=1)).splitlines()[1] == "1  layer"


def test_a_terminal_that_is_too_narrow_for_a_table_gets_a_paragraph_for_each_row(
    on_terminal: pytest.MonkeyPatch,
) -> None:
    header = ("ENVIRONMENT", "TF", "DRIVER".rjust(12), "", "BASE")
    rows = [
        ("tf-2.15-cuda12.2", "2.15.1", "525.60.13".rjust(12), meaning("yes", Meaning.GOOD), "debian-bookworm +2"),
        ("tf-2.15-cpu", "2.15.1", "", "no", "a base whose name is long"),
    ]
    on_terminal.setenv("COLUMNS", "40")
    assert click.unstyle(table(header, rows)).splitlines() == [
        "tf-2.15-cuda12.2",
        "    TF 2.15.1, DRIVER 525.60.13, yes,",
        "    BASE debian-bookworm +2",
        "tf-2.15-cpu",
        "    TF 2.15.1, no, BASE a base whose",
        "    name is long",
    ]
    assert "\x1b[38;5;29myes\x1b[0m," in table(header, rows)
    on_terminal.setenv("COLUMNS", "80")
    assert len(table(header, rows).splitlines()) == 3


def test_colours_take_no_columns() -> None:
    rows = [(meaning("yes", Meaning.GOOD), "x"), ("maybe", "y")]
    assert click.unstyle(table(("A", "B"), rows)) == click.unstyle(table(("A", "B"), [("yes", "x"), ("maybe", "y")]))
    assert table(("A", "B"), rows).splitlines()[1] == "\x1b[38;5;29myes\x1b[0m    x"


def test_ids_are_not_split_where_a_line_ends(on_terminal: pytest.MonkeyPatch) -> None:
    on_terminal.setenv("COLUMNS", "25")
    assert table(HEADER, [("1", "of the ubuntu-focal-base")]).splitlines()[1:] == [
        "1   of the",
        "    ubuntu-focal-base",
    ]


def test_a_line_with_columns_continues_below_the_last_one() -> None:
    assert folded("  cpu  imported, trained and saved", 24) == "  cpu  imported, trained\n       and saved"


def test_a_last_column_without_room_for_a_word_is_continued_as_any_line() -> None:
    assert folded("  ab  short a-very-long-word", 20) == "  ab  short\n    a-very-long-word"


@given(
    st.lists(st.sampled_from(("envbuilder", "--base", "a b", "it's", '"x"', "--accept-nvidia-eula")), min_size=1),
    st.integers(min_value=10, max_value=60),
)
def test_a_broken_command_is_the_same_command(words: list[str], columns: int) -> None:
    lines = list(shell_lines(shlex.join(words), columns, first="  "))
    assert shlex.split(" ".join(line.removesuffix("\\") for line in lines)) == words
    assert all(line.endswith(" \\") for line in lines[:-1])
    assert len(lines) == 1 or all(len(line) <= columns for line in lines)


@pytest.mark.parametrize("command", ["x" * 30, f"python -c {'x' * 30}", "echo 'no end of the quote " + "y" * 30])
def test_a_command_without_a_place_to_break_stays_whole(command: str) -> None:
    assert list(shell_lines(command, 20)) == [command]
