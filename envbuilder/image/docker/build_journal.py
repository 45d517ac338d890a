"""Journal of a build, collected from its events: its steps, and the end of each one's output."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from envbuilder.image.builds import BuildEvent, BuildStep, StepFinished, StepOutput, StepStarted

TAIL_LINES = 20
# BuildKit's internal steps for the context and the base's manifest: shown only if they take time.
_INTERNAL = "[internal]"
_NOTICEABLE_SECONDS = 0.05
# BuildKit cancels other steps when one fails; these are not the cause.
_STOPPED = "context canceled"


@dataclass(slots=True, kw_only=True)
class _Tally:
    seconds: float = 0.0
    cached: bool = False
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=TAIL_LINES))


class BuildJournal:
    """Collects events for the result of a build.

    Attributes:
        failed_step: The first step that failed by itself; empty if none has.
    """

    def __init__(self) -> None:
        self.failed_step = ""
        self._tallies: dict[str, _Tally] = {}

    def note(self, event: BuildEvent) -> None:
        """Record one event."""
        match event:
            case StepStarted(step=step):
                self._tallies.setdefault(step, _Tally())
            case StepOutput(step=step, text=text):
                self._tallies.setdefault(step, _Tally()).tail.append(text)
            case StepFinished():
                self._finish(event)
            case _:
                pass

    def _finish(self, event: StepFinished) -> None:
        tally = self._tallies.setdefault(event.step, _Tally())
        tally.seconds += event.seconds
        tally.cached = event.cached
        if event.error and _STOPPED not in event.error and not self.failed_step:
            self.failed_step = event.step

    def steps(self) -> tuple[BuildStep, ...]:
        """Return all steps in the order of their start, without internal ones that took no time."""
        return tuple(
            BuildStep(name=name, seconds=tally.seconds, cached=tally.cached)
            for name, tally in self._tallies.items()
            if name and not (name.startswith(_INTERNAL) and tally.seconds < _NOTICEABLE_SECONDS)
        )

    def tail(self, step: str) -> tuple[str, ...]:
        """Return the last lines of the output of a step, oldest first, at most `TAIL_LINES`."""
        return tuple(self._tallies[step].tail) if step in self._tallies else ()
