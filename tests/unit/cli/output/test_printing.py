"""Tables on a terminal and in a pipe."""

from __future__ import annotations

import sys

import click
import pytest

from envbuilder.cli.output.printing import table

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


def test_a_column_without_room_is_left_to_the_terminal(on_terminal: pytest.MonkeyPatch) -> None:
    on_terminal.setenv("COLUMNS", "10")
    assert table(HEADER, ROWS).splitlines()[1] == "1   Python 3.11 from the OS"


def test_a_row_is_one_line_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "18")
    assert table(HEADER, ROWS).splitlines()[1] == "1   Python 3.11 from the OS"


def test_an_optional_last_column_is_left_out_instead(on_terminal: pytest.MonkeyPatch) -> None:
    on_terminal.setenv("COLUMNS", "18")
    assert click.unstyle(table(HEADER, ROWS, last_optional=True)).splitlines() == ["ID", "1", "2"]
    on_terminal.setenv("COLUMNS", "28")
    assert table(HEADER, ROWS, last_optional=True) == table(HEADER, ROWS)


def test_an_optional_last_column_is_kept_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "18")
    assert table(HEADER, ROWS, last_optional=True) == table(HEADER, ROWS)
