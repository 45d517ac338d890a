from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.image.docker.log_text import LineSplitter, clean


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"plain", "plain"),
        (b"\x1b[91merror\x1b[0m", "error"),
        (b"10%\r55%\r100%", "100%"),
        (b"windows\r\n", "windows"),
        (b"\x1b]0;title\x07text", "text"),
        (b"\x1b]8;;link\x1b\\text", "text"),
        (b"\x1b[2K\x1b[1Gdone", "done"),
        (b"tab\there", "tab\there"),
        (b"bell\x07", "bell"),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_a_line_is_what_a_terminal_shows_in_the_end(raw: bytes, shown: str) -> None:
    assert clean(raw) == shown


def test_lines_with_nothing_to_show_are_left_out() -> None:
    assert list(LineSplitter().feed(b"\n\x1b[0m\n  \nlast\n")) == ["last"]


def test_a_line_that_never_ends_is_given_in_pieces() -> None:
    splitter = LineSplitter()
    lines = [line for _ in range(100) for line in splitter.feed(b"x" * 1024)]
    assert lines
    assert sum(map(len, (*lines, *splitter.flush()))) == 100 * 1024


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=6))
def test_how_a_stream_is_cut_does_not_matter(stream: bytes, cuts: list[int]) -> None:
    whole = LineSplitter()
    expected = [*whole.feed(stream), *whole.flush()]
    places = [0, *sorted(cut for cut in cuts if cut <= len(stream)), len(stream)]
    pieces = LineSplitter()
    lines = [line for start, end in pairwise(places) for line in pieces.feed(stream[start:end])]
    assert [*lines, *pieces.flush()] == expected


@given(st.binary(max_size=200))
def test_no_control_character_reaches_the_reader(stream: bytes) -> None:
    splitter = LineSplitter()
    for line in (*splitter.feed(stream), *splitter.flush()):
        assert not any(ord(character) < 32 and character != "\t" for character in line)
