"""Progress of a build: a live step list on a terminal, plain lines in a pipe, everything in a log file."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

import click

from envbuilder.core.units import size
from envbuilder.image.builds import BuildEvent, LogLine, StepFinished, StepStarted
from envbuilder.image.dockerfile.step_names import step_title
from envbuilder.oci.transfers import Transfer

_REDRAW = 0.1
_CLEAR = "\r\x1b[2K"


@dataclass
class BuildLog:
    """Log of every event as a line of text.

    Attributes:
        stream: Receives the lines.
        clock: Returns seconds, monotonic.
    """

    stream: TextIO
    clock: Callable[[], float] = time.monotonic
    _start: float = field(init=False)

    def __post_init__(self) -> None:
        self._start = self.clock()

    def __call__(self, event: BuildEvent) -> None:
        """Write one event."""
        line = _plain(event)
        if line:
            self.stream.write(f"{self.clock() - self._start:8.1f} {line}\n")
            self.stream.flush()


@dataclass
class PlainProgress:
    """One line for each step that starts or ends; for pipes and CI."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)

    def __call__(self, event: BuildEvent) -> None:
        """Show one event."""
        if isinstance(event, StepFinished):
            self.stream.write(f"{_mark(event)} {step_title(event.step)} {_duration(event)}\n")
            self.stream.flush()
        elif isinstance(event, StepStarted):
            self.stream.write(f"> {step_title(event.step)}\n")
            self.stream.flush()

    def close(self) -> None:
        """Do nothing."""


@dataclass
class LiveProgress:
    """Progress on a terminal: finished steps scroll by; the last line shows the running step and its latest output."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)
    clock: Callable[[], float] = time.monotonic
    _running: dict[str, float] = field(default_factory=dict)
    _latest: str = ""
    _drawn: float = 0.0

    def __call__(self, event: BuildEvent) -> None:
        """Show one event."""
        match event:
            case StepStarted(step=step):
                self._running[step] = self.clock()
            case StepFinished():
                self._running.pop(event.step, None)
                self._scroll(event)
            case LogLine(text=text):
                self._latest = text
            case Transfer():
                self._latest = _moved(event)
        self._draw()

    def close(self) -> None:
        """Remove the live line."""
        self.stream.write(_CLEAR)
        self.stream.flush()

    def _scroll(self, event: StepFinished) -> None:
        colour = "red" if event.error else "cyan" if event.cached else "green"
        line = (
            f"{click.style(_mark(event), fg=colour)} {step_title(event.step)} {click.style(_duration(event), dim=True)}"
        )
        self.stream.write(f"{_CLEAR}{line}\n")
        self._latest = ""

    def _draw(self) -> None:
        now = self.clock()
        if now - self._drawn < _REDRAW or not self._running:
            return
        self._drawn = now
        step, since = next(iter(self._running.items()))
        more = f" +{len(self._running) - 1}" if len(self._running) > 1 else ""
        head = f"  {step_title(step)}{more} {now - since:.0f}s "
        room = max(shutil.get_terminal_size().columns - len(head) - 2, 0)
        self.stream.write(f"{_CLEAR}{head}{click.style(self._latest.strip()[:room], dim=True)}")
        self.stream.flush()


def _plain(event: BuildEvent) -> str:
    match event:
        case StepStarted(step=step):
            return f"> {step}"
        case StepFinished():
            error = f": {event.error}" if event.error else ""
            return f"{_mark(event)} {event.step} {_duration(event)}{error}"
        case LogLine(text=text):
            return f"  {text}"
        case Transfer():
            return ""


def _mark(event: StepFinished) -> str:
    return "✗" if event.error else "=" if event.cached else "✓"


def _duration(event: StepFinished) -> str:
    return "cached" if event.cached else f"{event.seconds:.1f}s"


def _moved(event: Transfer) -> str:
    of = f" of {size(event.total)}" if event.total else ""
    return f"{event.item} {size(event.current)}{of}"
