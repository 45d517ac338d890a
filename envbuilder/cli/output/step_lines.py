"""Steps of a build as lines of text."""

from __future__ import annotations

import click

from envbuilder.cli.output.streams import foreign
from envbuilder.cli.output.terminal import Meaning
from envbuilder.image.builds import BuildEvent, StepFinished, StepOutput, StepStarted
from envbuilder.image.dockerfile.step_names import step_title
from envbuilder.oci.transfers import Transfer


def finished_line(event: StepFinished) -> str:
    """Return a finished step as one line: green if it was done, cyan if it was cached, red if it failed."""
    colour = Meaning.BAD if event.error else Meaning.NEUTRAL if event.cached else Meaning.GOOD
    title, taken = foreign(step_title(event.step)), click.style(_duration(event), dim=True)
    return f"{click.style(_mark(event), fg=colour)} {title} {taken}"


def log_line(text: str) -> str:
    """Return a line that a step printed, for `--verbose`."""
    return click.style(f"  {foreign(text)}", dim=True)


def logged_line(event: BuildEvent) -> str:
    """Return an event as a line of the log; empty for one that is not logged."""
    match event:
        case StepStarted(step=step):
            return f"> {step}"
        case StepFinished():
            error = f": {event.error}" if event.error else ""
            return f"{_mark(event)} {event.step} {_duration(event)}{error}"
        case StepOutput(text=text):
            return f"  {text}"
        case Transfer():
            return ""


def _mark(event: StepFinished) -> str:
    return "✗" if event.error else "=" if event.cached else "✓"


def _duration(event: StepFinished) -> str:
    return "cached" if event.cached else f"{event.seconds:.1f}s"
