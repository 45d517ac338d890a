"""Progress of a build: redrawn on a terminal, plain lines or JSON in a pipe, everything in a log file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO, assert_never

from envbuilder.cli.output.step_lines import finished_line, log_line, logged_line
from envbuilder.cli.output.streams import foreign
from envbuilder.cli.output.terminal import TERMINAL, ProgressForm, Verbosity, say, say_event
from envbuilder.core.errors import EnvbuilderError
from envbuilder.core.units import size
from envbuilder.image.builds import BuildEvent, StepFinished, StepOutput, StepStarted
from envbuilder.image.dockerfile.step_names import step_title
from envbuilder.oci.transfers import Transfer
from envbuilder.wiring.session import Session

_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_BETWEEN_EVENTS = 0.5


@contextmanager
def shown_progress() -> Iterator[Callable[[BuildEvent], None]]:
    """Yield progress in the form that the command line and the settings ask for."""
    verbose = TERMINAL.verbosity is Verbosity.VERBOSE
    if TERMINAL.verbosity is Verbosity.QUIET:
        yield lambda _event: None
    elif TERMINAL.form is ProgressForm.JSON:
        yield JsonProgress()
    elif TERMINAL.redraws:
        # Its import takes a tenth of a second.
        from envbuilder.cli.output.live_progress import LiveProgress  # noqa: PLC0415

        with closing(LiveProgress(sys.stderr, color=TERMINAL.colorful(sys.stderr), verbose=verbose)) as display:
            yield display
    else:
        yield PlainProgress(verbose=verbose)


@dataclass
class BuildLog:
    """Log of every event as a line of text.

    Attributes:
        clock: Returns seconds, monotonic.
    """

    stream: TextIO
    clock: Callable[[], float] = time.monotonic
    _start: float = field(init=False)

    def __post_init__(self) -> None:
        self._start = self.clock()

    def __call__(self, event: BuildEvent) -> None:
        """Write one event."""
        line = logged_line(event)
        if line:
            self.stream.write(f"{self.clock() - self._start:8.1f} {line}\n")
            self.stream.flush()


class Paced:
    """Lets the transfer of each item pass once in a while, and its end always."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self._seconds = seconds
        self._clock = clock
        self._last_passed: dict[str, float] = {}
        self._ended: set[str] = set()

    def passes(self, event: Transfer) -> bool:
        """Return True if an event is to be printed."""
        now = self._clock()
        ends = event.is_complete
        if ends or now - self._last_passed.setdefault(event.item, now) >= self._seconds:
            self._last_passed[event.item] = now
            news = not ends or event.item not in self._ended
            self._ended.add(event.item) if ends else self._ended.discard(event.item)
            return news
        return False


class PlainProgress:
    """Lines for pipes and CI: for each step that starts or ends, for a long transfer now and then and at its end."""

    def __init__(self, *, verbose: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._verbose = verbose
        self._paced = Paced(_SECONDS_BETWEEN_LINES, clock)
        self._long_transfers: set[str] = set()

    def __call__(self, event: BuildEvent) -> None:
        """Show one event."""
        match event:
            case StepStarted(step=step):
                say(f"> {foreign(step_title(step))}")
            case StepFinished():
                say(finished_line(event))
            case StepOutput(text=text):
                if self._verbose:
                    say(log_line(text))
            case Transfer(item=item):
                if self._paced.passes(event) and not (event.is_complete and item not in self._long_transfers):
                    self._long_transfers.add(item)
                    of = f" of {size(event.total)}" if event.total else ""
                    say(f"  {foreign(event.item)} {size(event.current)}{of}")
            case _:
                assert_never(event)


class JsonProgress:
    """One JSON object on each line, for programs."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._paced = Paced(_SECONDS_BETWEEN_EVENTS, clock)

    def __call__(self, event: BuildEvent) -> None:
        """Print one event."""
        match event:
            case StepStarted(step=step):
                say_event("step-started", step=step, title=step_title(step))
            case StepFinished(step=step, seconds=seconds, cached=cached, error=error):
                taken = round(seconds, 3)
                say_event(
                    "step-finished",
                    step=step,
                    title=step_title(step),
                    seconds=taken,
                    cached=cached,
                    error=error or None,
                )
            case StepOutput(step=step, text=text):
                say_event("log", step=step, text=text)
            case Transfer(item=item, current=current, total=total):
                if self._paced.passes(event):
                    say_event("transfer", item=item, bytes=current, total=total or None)
            case _:
                assert_never(event)


@contextmanager
def watched(session: Session, name: str) -> Iterator[tuple[Session, Path]]:
    """Yield a session whose listener shows progress, and the full log."""
    folder = session.settings.use("logs")
    folder.mkdir(parents=True, exist_ok=True)
    stamp = datetime.fromtimestamp(time.time(), tz=UTC).strftime("%Y%m%dT%H%M%SZ")
    path = folder / f"{Path(name).name}-{stamp}.log"
    with path.open("w", encoding="utf-8") as stream, shown_progress() as show:
        write = BuildLog(stream)

        def listen(event: BuildEvent) -> None:
            write(event)
            show(event)

        try:
            yield replace(session, listener=listen), path
        except EnvbuilderError as error:
            stream.write(f"error: {error.message}\n")
            raise
