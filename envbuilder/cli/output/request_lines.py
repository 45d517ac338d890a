"""A line for each request to a server, for `--verbose`."""

from __future__ import annotations

import logging

import click

from envbuilder.cli.output.streams import foreign
from envbuilder.cli.output.terminal import TERMINAL, ProgressForm, Verbosity, say, say_event
from envbuilder.core.http import request_log

_FIELDS = ("method", "url", "status", "seconds")


class _Lines(logging.Handler):
    """Prints records as they come."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record, unless another command runs now."""
        if TERMINAL.verbosity is not Verbosity.VERBOSE:
            return
        fields = {name: getattr(record, name) for name in _FIELDS}
        if TERMINAL.form is ProgressForm.JSON:
            say_event("request", **fields)
        else:
            answer = fields["status"] or "no response"
            line = f"  {fields['method']} {fields['url']} {answer} {fields['seconds']:.1f}s"
            say(click.style(foreign(line), dim=True))


def print_requests() -> None:
    """Print each request from now on."""
    logger = logging.getLogger(request_log.__name__)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.handlers = [_Lines()]
