"""Progress on a terminal, drawn by rich: finished steps scroll by, and below them is what runs now.

A thread redraws it, so that times go on while a step is silent.
"""

from __future__ import annotations

from typing import TextIO, assert_never

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.table import Column
from rich.text import Text

from envbuilder.cli.output.step_lines import finished_line, log_line
from envbuilder.cli.output.streams import foreign, unescaped, visible
from envbuilder.cli.output.terminal import TERMINAL, UNFILLED, Meaning
from envbuilder.core.units import size
from envbuilder.image.builds import BuildEvent, StepFinished, StepOutput, StepStarted
from envbuilder.image.dockerfile.step_names import step_title
from envbuilder.oci.transfers import Transfer

_PER_SECOND = 8
_WORKING = "working"
"""Shown while no step runs, until a message says what is being done."""
_MOST_TRANSFERS = 6
_BAR = 16
_NARROW, _BAR_IF_NARROW = 60, 6
"""Columns below which a transfer has no rate, and a short bar, so that its name is visible."""


class LiveProgress:
    """Progress that is redrawn: a line for each running step, and a bar for each transfer.

    With `verbose`, what the steps print appears above the display.
    """

    def __init__(self, stream: TextIO, *, color: bool, verbose: bool = False, width: int | None = None) -> None:
        self._console = Console(
            file=unescaped(stream),
            force_terminal=True,
            color_system="auto" if color else None,
            highlight=False,
            markup=False,
            emoji=False,
            width=width,
        )
        self._verbose = verbose
        title = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1))
        done = f"color({Meaning.GOOD})"
        is_narrow = self._console.width < _NARROW
        bar = BarColumn(
            _BAR_IF_NARROW if is_narrow else _BAR, style=f"color({UNFILLED})", complete_style=done, finished_style=done
        )
        self._steps = Progress(title, _Elapsed(), expand=True)
        self._transfers = Progress(title, bar, _Amount(is_short=is_narrow), expand=True)
        self._tasks: dict[str, TaskID] = {}
        self._items: dict[str, TaskID] = {}
        self._idle = self._steps.add_task(_WORKING, total=None)
        self._live = Live(
            Group(self._steps, self._transfers),
            console=self._console,
            refresh_per_second=_PER_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        TERMINAL.display = self
        self._live.start()

    def __call__(self, event: BuildEvent) -> None:
        """Show one event."""
        match event:
            case StepStarted(step=step):
                self._tasks[step] = self._start(step_title(step))
            case StepFinished(step=step):
                self._finish(self._tasks.pop(step, None))
                self.above(finished_line(event))
            case StepOutput():
                self._log(event)
            case Transfer():
                self._transfer(event)
            case _:
                assert_never(event)

    def above(self, line: str) -> None:
        """Print a line above the display."""
        self._console.print(Text.from_ansi(visible(line)), soft_wrap=True)

    def between_steps(self, text: str) -> None:
        """Show what is being done while no step runs."""
        self._steps.reset(self._idle, description=_one_line(text))

    def refresh(self) -> None:
        """Draw now; otherwise a thread does, several times a second."""
        self._live.refresh()

    def close(self) -> None:
        """Remove the display."""
        TERMINAL.display = None
        self._live.stop()

    def _log(self, event: StepOutput) -> None:
        if self._verbose:
            self.above(log_line(event.text))
        elif event.step in self._tasks and event.text.strip():
            title = f"{step_title(event.step)}: {event.text}"
            self._steps.update(self._tasks[event.step], description=_one_line(title))

    def _transfer(self, event: Transfer) -> None:
        total = event.total or None
        if event.item not in self._items:
            visible_ones = len(self._items) < _MOST_TRANSFERS
            self._items[event.item] = self._transfers.add_task(_one_line(event.item), total=total, visible=visible_ones)
        self._transfers.update(self._items[event.item], completed=event.current, total=total)
        if event.is_complete:
            self._transfers.remove_task(self._items.pop(event.item))
            for task in list(self._items.values())[:_MOST_TRANSFERS]:
                self._transfers.update(task, visible=True)

    def _start(self, title: str) -> TaskID:
        self._steps.update(self._idle, visible=False)
        return self._steps.add_task(_one_line(title), total=None)

    def _finish(self, task: TaskID | None) -> None:
        if task is not None:
            self._steps.remove_task(task)
        if not self._tasks:
            self._steps.reset(self._idle, visible=True, description=_WORKING)


class _Elapsed(ProgressColumn):
    """Seconds of a running step."""

    def render(self, task: Task) -> Text:
        return Text(_clock(task.elapsed or 0.0), style="dim")


class _Amount(ProgressColumn):
    """Bytes, rate and remaining time of a transfer; only bytes if it `is_short`."""

    def __init__(self, *, is_short: bool) -> None:
        super().__init__()
        self._is_short = is_short

    def render(self, task: Task) -> Text:
        of = f" of {size(int(task.total))}" if task.total else ""
        if self._is_short:
            return Text(f"{size(int(task.completed))}{of}")
        rate = f", {size(int(task.speed))}/s" if task.speed else ""
        left = f", {_clock(task.time_remaining)} left" if task.time_remaining else ""
        return Text(f"{size(int(task.completed))}{of}{rate}{left}")


def _clock(seconds: float) -> str:
    """Return a duration.

    Example:
        >>> _clock(9.7), _clock(75.0)
        ('10s', '1:15')
    """
    return f"{seconds:.0f}s" if seconds < 59.5 else f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _one_line(text: str) -> str:
    return " ".join(foreign(text).split())
