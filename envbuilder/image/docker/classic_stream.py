"""The classic builder's progress messages as build events."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from envbuilder.core.json_fields import Record, number, text
from envbuilder.image.builds import BuildEvent, StepFinished, StepOutput, StepStarted
from envbuilder.image.docker.images import failure
from envbuilder.image.docker.log_text import LineSplitter
from envbuilder.oci.transfers import Transfer

_STEP = re.compile(r"Step (?P<index>\d+)/\d+ : .*")
_CACHED = " ---> Using cache"
# Messages of the builder about its intermediate containers and images.
_BOOKKEEPING = re.compile(r" ---> (Running in )?[0-9a-f]{12}|Removing intermediate container [0-9a-f]{12}")
_BUILT = re.compile(r"Successfully (built|tagged) .*")


class ClassicReader:
    """Reader of `Step 3/12 : RUN …` lines of the classic builder, which runs one step at a time.

    The engine sends no times, so a step lasts from its line to that of the next one, by the given clock.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._splitter = LineSplitter()
        self._step = ""
        self._index = 0
        self._began = 0.0
        self._cached = False

    def feed(self, message: Record) -> Iterator[BuildEvent]:
        """Yield the events of one message."""
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
        """Yield the events for the open step at the end of the stream.

        Args:
            error: Reason why the last step failed; empty if it did not.
        """
        for line in self._splitter.flush():
            yield from self._line(line)
        if self._step:
            seconds = 0.0 if self._cached else self._clock() - self._began
            yield StepFinished(step=self._step, seconds=seconds, cached=self._cached, error=error)
        self._step = ""

    def _line(self, line: str) -> Iterator[BuildEvent]:
        step = _STEP.fullmatch(line)
        # The builder never skips a number, so a "Step 9/9 : …" line in the output of a step is not mistaken for a step.
        if step and int(step["index"]) == self._index + 1:
            yield from self._next(line)
        elif line == _CACHED:
            self._cached = True
        elif not _BOOKKEEPING.fullmatch(line) and not _BUILT.fullmatch(line):
            yield StepOutput(step=self._step, text=line)

    def _next(self, line: str) -> Iterator[BuildEvent]:
        yield from self.finish()
        self._step, self._index = line, self._index + 1
        self._began, self._cached = self._clock(), False
        yield StepStarted(step=line)
