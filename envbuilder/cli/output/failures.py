"""Errors as text on standard error, as a JSON document on standard output, or as a line of `--progress json`."""

from __future__ import annotations

import re
import sys
from contextlib import suppress

import click

from envbuilder.cli.output.streams import foreign
from envbuilder.cli.output.terminal import TERMINAL, Meaning, ProgressForm, say, say_event, wrapped
from envbuilder.core.errors import EnvbuilderError, InvalidInput


def report(error: EnvbuilderError) -> int:
    """Print an error and its hint; return the exit code."""
    report_failure(failure_document(error), error.exit_code)
    return error.exit_code


def report_usage(error: click.ClickException) -> int:
    """Print an error that click found on the command line; return the exit code."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        with suppress(OSError):
            error.show()
        return error.exit_code
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context and any("--json" in each.opts for each in context.command.params) and "--json" in sys.argv:
        TERMINAL.json_asked = True
    hint = f"`{context.command_path} --help`" if context else ""
    report_failure({"kind": "usage-error", "message": error.format_message(), "hint": hint}, error.exit_code)
    return error.exit_code


def report_end(words: str, status: int) -> int:
    """Print that a signal has ended the command; return the status."""
    with suppress(OSError):
        if TERMINAL.form is ProgressForm.JSON:
            say_event("stopped", message=words, exit_status=status)
        else:
            say(words)
    return status


def failure_document(error: EnvbuilderError) -> dict[str, object]:
    """Return the fields of an error, without its exit status."""
    faults = [
        {"file": each.file, "line": each.line or None, "field": each.field, "problem": each.problem, "hint": each.hint}
        for each in (error.faults if isinstance(error, InvalidInput) else ())
    ]
    listed: dict[str, object] = {"faults": faults} if faults else {}
    return {"kind": kind_of(type(error)), "message": error.message, "hint": error.hint} | listed


def kind_of(family: type[EnvbuilderError]) -> str:
    """Return the name of a kind of errors: that of the nearest class of `core/errors.py`.

    Example:
        >>> from envbuilder.core.errors import NoUsableBase
        >>> kind_of(NoUsableBase)
        'no-usable-base'
    """
    named = next(each for each in family.__mro__ if each.__module__ == EnvbuilderError.__module__)
    return re.sub(r"(?<!^)(?=[A-Z])", "-", named.__name__).lower()


def report_failure(failure: dict[str, object], status: int) -> None:
    """Print a failure in each requested form.

    It has `kind`, `message` and `hint`, and more for documents.
    """
    document = failure | {"exit_status": status}
    with suppress(OSError):
        if TERMINAL.json_asked and not TERMINAL.json_printed:
            from envbuilder.cli.output.printing import print_json  # noqa: PLC0415  `--help` needs no tables

            print_json({"schema": 1, "error": document})
        if TERMINAL.form is ProgressForm.JSON:
            say_event("error", **document)
            return
        say(f"{click.style('error:', fg=Meaning.BAD, bold=True)} {wrapped(foreign(str(failure['message'])), 7)}")
        if failure["hint"]:
            say(f"{click.style('next:', fg=Meaning.NEUTRAL, bold=True)} {wrapped(foreign(str(failure['hint'])), 6)}")
