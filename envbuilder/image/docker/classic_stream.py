"""The classic builder's progress messages as build events."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from envbuilder.core.json_fields import Record, number, text
from envbuilder.image.builds import BuildEvent, LogLine, StepFinished, StepStarted
from envbuilder.image.docker.images import failure
from envbuilder.image.docker.log_text import LineSplitter
from envbuilder.oci.transfers import Transfer

_STEP = re.compile(r"Step (?P<index>\d+)/\d+ : .*")
_CACHED = " ---> Using cache"
# What the builder itself says about its intermediate containers and images.
_BOOKKEEPING = re.compile(r" ---> (Running in )?[0-9a-f]{12}|Removing intermediate container [0-9a-f]{12}")
_BUILT = re.compile(r"Successfully (built|tagged) .*")


class ClassicReader:
    """Follows a build through `Step 3/12 : RUN …` lines; it does one step at a time.

    The engine sends no times, so a step lasts from its line to that of the next one, by the clock given.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._splitter = LineSplitter()
        self._step = ""
        self._index = 0
        self._began = 0.0
        self._cached = False

    def feed(self, message: Record) -> Iterator[BuildEvent]:
        """The events that one message tells of."""
        for line in self._splitter.feed(text(message, "stream").encode("utf-8", "replace")):
            yield from self._line(line)
        if number(message, "progressDetail", "current"):
            yield Transfer(
                item=text(message, "id"),
                current=number(message, "progressDetail", "current"),
                total=number(message, "progressDetail", "total"),
            )
        if failure(message):
            yield from self.finish(failure(message))

    def finish(self, error: str = "") -> Iterator[BuildEvent]:
        """What was still open when the engine said no more.

        Args:
            error: Why the last step failed; empty when it did not.
        """
        for line in self._splitter.flush():
            yield from self._line(line)
        if self._step:
            seconds = 0.0 if self._cached else self._clock() - self._began
            yield StepFinished(step=self._step, seconds=seconds, cached=self._cached, error=error)
        self._step = ""

    def _line(self, line: str) -> Iterator[BuildEvent]:
        step = _STEP.fullmatch(line)
        # A step that prints "Step 9/9 : …" itself does not count: the builder never skips a number.
        if step and int(step["index"]) == self._index + 1:
            yield from self._next(line)
        elif line == _CACHED:
            self._cached = True
        elif not _BOOKKEEPING.fullmatch(line) and not _BUILT.fullmatch(line):
            yield LogLine(step=self._step, text=line)

    def _next(self, line: str) -> Iterator[BuildEvent]:
        yield from self.finish()
        self._step, self._index = line, self._index + 1
        self._began, self._cached = self._clock(), False
        yield StepStarted(step=line)
