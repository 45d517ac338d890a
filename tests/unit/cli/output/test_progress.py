"""What a build looks like in a pipe, on a terminal and in its log."""

from __future__ import annotations

import io
import itertools

import pytest

from envbuilder.cli.output.printing import table
from envbuilder.cli.output.progress import BuildLog, LiveProgress, PlainProgress
from envbuilder.image.builds import BuildEvent, LogLine, StepFinished, StepStarted
from envbuilder.oci.transfers import Transfer

STEP = "[2/3] RUN --mount=type=tmpfs,target=/run /run/envbuilder/tools/with-host uv pip install x"
EVENTS: tuple[BuildEvent, ...] = (
    StepStarted(step="[1/3] FROM base"),
    StepFinished(step="[1/3] FROM base", seconds=0.0, cached=True),
    StepStarted(step=STEP),
    LogLine(step=STEP, text="Downloading x (400 MB)"),
    Transfer(item="layer", current=500_000, total=1_000_000),
    StepFinished(step=STEP, seconds=61.25, cached=False),
    StepStarted(step="[3/3] RUN false"),
    StepFinished(step="[3/3] RUN false", seconds=0.1, cached=False, error="exit code: 1"),
)


def test_a_pipe_gets_a_line_for_every_start_and_end_without_mounts() -> None:
    stream = io.StringIO()
    show = PlainProgress(stream=stream)
    for event in EVENTS:
        show(event)
    show.close()
    assert stream.getvalue().splitlines() == [
        "> [1/3] base",
        "= [1/3] base cached",
        "> [2/3] RUN uv pip install x",
        "✓ [2/3] RUN uv pip install x 61.2s",
        "> [3/3] RUN false",
        "✗ [3/3] RUN false 0.1s",
    ]


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


def test_a_terminal_shows_what_runs_now_and_is_left_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    stream = io.StringIO()
    ticks = itertools.count(0.0, 1.0)
    show = LiveProgress(stream=stream, clock=lambda: next(ticks))
    for event in EVENTS:
        show(event)
    show.close()
    assert "Downloading x (400 MB)" in stream.getvalue()
    assert "layer 488 KiB of 977 KiB" in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_a_long_step_is_cut_for_people_and_not_in_the_log() -> None:
    shown, kept = io.StringIO(), io.StringIO()
    step = "RUN " + "word " * 60
    PlainProgress(stream=shown)(StepStarted(step=step))
    BuildLog(kept)(StepStarted(step=step))
    assert len(shown.getvalue().strip()) <= 98
    assert step in kept.getvalue()


def test_a_table_is_aligned_and_has_no_blanks_at_the_end() -> None:
    assert table(("A", "LONG"), [("long", "x"), ("b", "")]).splitlines()[1:] == ["long  x", "b"]
