"""What a build looks like in a pipe, for a program, on a terminal and in its log."""

from __future__ import annotations

import io
import itertools
import json
import re
from collections.abc import Iterator

import pytest

from envbuilder.cli.output.live_progress import LiveProgress
from envbuilder.cli.output.printing import notice, table
from envbuilder.cli.output.progress import BuildLog, JsonProgress, PlainProgress, shown_progress
from envbuilder.cli.output.terminal import TERMINAL
from envbuilder.image.builds import BuildEvent, StepFinished, StepOutput, StepStarted
from envbuilder.oci.transfers import Transfer

STEP = "[2/3] RUN --mount=type=tmpfs,target=/run /run/envbuilder/tools/with-host uv pip install x"
EVENTS: tuple[BuildEvent, ...] = (
    StepStarted(step="[1/3] FROM base"),
    StepFinished(step="[1/3] FROM base", seconds=0.0, cached=True),
    StepStarted(step=STEP),
    StepOutput(step=STEP, text="Downloading x (400 MB)"),
    Transfer(item="layer", current=500_000, total=1_000_000),
    Transfer(item="layer", current=1_000_000, total=1_000_000),
    StepFinished(step=STEP, seconds=61.25, cached=False),
    StepStarted(step="[3/3] RUN false"),
    StepFinished(step="[3/3] RUN false", seconds=0.1, cached=False, error="exit code: 1"),
)


@pytest.fixture(autouse=True)
def terminal() -> Iterator[None]:
    TERMINAL.begin()
    yield
    TERMINAL.begin()


def test_a_pipe_gets_a_line_for_every_start_and_end_without_mounts(capsys: pytest.CaptureFixture[str]) -> None:
    show = PlainProgress()
    for event in EVENTS:
        show(event)
    assert capsys.readouterr().err.splitlines() == [
        "> [1/3] base",
        "= [1/3] base cached",
        "> [2/3] RUN uv pip install x",
        "✓ [2/3] RUN uv pip install x 61.2s",
        "> [3/3] RUN false",
        "✗ [3/3] RUN false 0.1s",
    ]


def test_a_pipe_gets_what_steps_print_if_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    show = PlainProgress(verbose=True)
    for event in EVENTS:
        show(event)
    assert "  Downloading x (400 MB)" in capsys.readouterr().err.splitlines()


def test_a_long_transfer_is_told_every_ten_seconds_and_its_end_once(capsys: pytest.CaptureFixture[str]) -> None:
    ticks = itertools.count(0.0, 4.0)
    show = PlainProgress(clock=lambda: next(ticks))
    for current in (1, 2, 3, 4, 5, 5):
        show(Transfer(item="x.whl", current=current, total=5))
    assert capsys.readouterr().err.splitlines() == ["  x.whl 4 B of 5 B", "  x.whl 5 B of 5 B"]


def test_a_short_transfer_gets_no_line_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    show = PlainProgress()
    for current in (1, 5):
        show(Transfer(item="x.whl", current=current, total=5))
    assert not capsys.readouterr().err


def test_a_program_gets_one_object_on_each_line(capsys: pytest.CaptureFixture[str]) -> None:
    show = JsonProgress()
    for event in EVENTS:
        show(event)
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [each["event"] for each in events] == [
        *("step-started", "step-finished", "step-started", "log", "transfer"),
        *("step-finished", "step-started", "step-finished"),
    ]
    assert events[3] == {"schema": 1, "event": "log", "step": STEP, "text": "Downloading x (400 MB)"}
    assert events[4] == {"schema": 1, "event": "transfer", "item": "layer", "bytes": 1_000_000, "total": 1_000_000}
    assert events[5] == {
        "schema": 1,
        "event": "step-finished",
        "step": STEP,
        "title": "[2/3] RUN uv pip install x",
        "seconds": 61.25,
        "cached": False,
        "error": None,
    }
    assert events[7]["error"] == "exit code: 1"


def test_the_log_keeps_everything_with_the_time() -> None:
    stream = io.StringIO()
    ticks = itertools.count(0.0, 1.5)
    write = BuildLog(stream, clock=lambda: next(ticks))
    for event in EVENTS:
        write(event)
    lines = stream.getvalue().splitlines()
    assert lines[3] == "     6.0   Downloading x (400 MB)"
    assert lines[-1].endswith("✗ [3/3] RUN false 0.1s: exit code: 1")
    assert STEP in stream.getvalue()


def shown(stream: io.StringIO) -> list[str]:
    """Return the lines that a terminal has been sent, without control sequences."""
    return [
        line.rstrip()
        for line in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r", "\n", stream.getvalue()).splitlines()
        if line.strip()
    ]


def test_a_terminal_shows_what_runs_now_and_is_left_clean() -> None:
    stream = io.StringIO()
    show = LiveProgress(stream, color=False, width=80)
    for event in EVENTS[:5]:
        show(event)
        show.refresh()
    live = shown(stream)
    assert "= [1/3] base cached" in live
    assert any(re.fullmatch(r"\[2/3\] RUN uv pip install x: Downloading x \(400 MB\) +\ds", line) for line in live)
    assert any(re.fullmatch(r"layer +━+[╸━ ]* 488 KiB of 977 KiB(, .*/s)?(, .* left)?", line) for line in live)
    for event in EVENTS[5:]:
        show(event)
    show.close()
    assert "✗ [3/3] RUN false 0.1s" in shown(stream)
    assert stream.getvalue().endswith("\x1b[?25h\r\x1b[1A\x1b[2K")  # The cursor is shown, and the display removed.
    assert not re.search(r"\x1b\[[0-9;]*m", stream.getvalue())


def test_no_line_is_wider_than_the_terminal() -> None:
    stream = io.StringIO()
    show = LiveProgress(stream, color=True, width=40)
    show(StepStarted(step="RUN " + "word " * 60))
    show(Transfer(item="a-very-long-name-of-a-file-in-a-repository.whl", current=1, total=1 << 40))
    show.refresh()
    show.close()
    assert max(map(len, shown(stream))) <= 40
    assert "a-very-long-name-of…" in shown(stream)
    assert " 1 B of 1 TiB" in shown(stream)


def test_messages_appear_above_what_is_redrawn() -> None:
    stream = io.StringIO()
    show = LiveProgress(stream, color=False, width=80)
    show(StepStarted(step="RUN x"))
    notice("using the lock x")
    show.close()
    assert "· using the lock x" in shown(stream)


def test_the_last_message_says_what_is_being_done_while_no_step_runs() -> None:
    stream = io.StringIO()
    show = LiveProgress(stream, color=False, width=80)
    notice("unpacking 90 packages\x1b[2J")
    show.refresh()
    assert any(re.fullmatch(r"unpacking 90 packages\S* +\ds", line) for line in shown(stream))
    show(StepStarted(step="RUN x"))
    show.refresh()
    before = len(shown(stream))
    show(StepFinished(step="RUN x", seconds=1.0, cached=False))
    show.refresh()
    show.close()
    assert any(re.fullmatch(r"working +\ds", line) for line in shown(stream)[before:])


def test_control_characters_of_a_step_do_not_reach_the_terminal() -> None:
    stream = io.StringIO()
    show = LiveProgress(stream, color=True, width=80, verbose=True)
    for event in (
        StepStarted(step="RUN \x1b]0;title\x07"),
        StepOutput(step="RUN \x1b]0;title\x07", text="a\x1b[2Jb"),
        Transfer(item="x\x1b[2Jy", current=1, total=2),
        StepFinished(step="RUN \x1b]0;title\x07", seconds=1.0, cached=False),
    ):
        show(event)
        show.refresh()
    show.close()
    assert "\x1b]0" not in stream.getvalue()
    assert "\x1b[2J" not in stream.getvalue()


def test_many_transfers_leave_room_for_the_steps() -> None:
    stream = io.StringIO()
    show = LiveProgress(stream, color=False, width=80)
    for number in range(30):
        show(Transfer(item=f"layer-{number}", current=1, total=9))
    show.refresh()
    assert not [line for line in shown(stream) if line.startswith("layer-29")]
    for number in range(29):
        show(Transfer(item=f"layer-{number}", current=9, total=9))
    show.refresh()
    assert [line for line in shown(stream) if line.startswith("layer-29")]
    show.close()


@pytest.mark.parametrize(
    ("typed", "kind"),
    [
        ({}, "PlainProgress"),
        ({"progress": "plain"}, "PlainProgress"),
        ({"progress": "json"}, "JsonProgress"),
        ({"verbosity": "quiet"}, "function"),
        ({"verbosity": "quiet", "progress": "json"}, "function"),
    ],
)
def test_the_form_is_that_of_the_command_line(typed: dict[str, str], kind: str) -> None:
    TERMINAL.typed.update(typed)
    with shown_progress() as show:
        assert type(show).__name__ == kind


def test_a_long_step_is_cut_for_people_and_not_in_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    kept = io.StringIO()
    step = "RUN " + "word " * 60
    PlainProgress()(StepStarted(step=step))
    BuildLog(kept)(StepStarted(step=step))
    assert len(capsys.readouterr().err.strip()) <= 98
    assert step in kept.getvalue()


def test_a_table_is_aligned_and_has_no_blanks_at_the_end() -> None:
    assert table(("A", "LONG"), [("long", "x"), ("b", "")]).splitlines()[1:] == ["long  x", "b"]
