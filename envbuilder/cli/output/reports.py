"""Reports on standard output and in files, and the exit status that goes with them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from envbuilder.cli.context import command_settings
from envbuilder.cli.output.printing import print_json, table
from envbuilder.core.errors import UsageError
from envbuilder.core.files import replacing
from envbuilder.diagnostics.checks.findings import NotProven, Report, Tier
from envbuilder.diagnostics.report.formats import Format
from envbuilder.diagnostics.report.registry import FORMATS, format_named, format_of

_FIRST = 3
TIERS = click.Choice([Tier.CPU.value, Tier.GPU.value])
ALL_TIERS = click.Choice([tier.value for tier in Tier])
FORMAT_NAMES = click.Choice(sorted(FORMATS))
output_option = click.option(
    "-o",
    "--output",
    "outputs",
    type=click.Path(dir_okay=False, path_type=Path),
    multiple=True,
    help="Write the report to a file too: .html, .json, .md, .txt or .xml (JUnit). Several times: several files.",
)


def destinations(outputs: Sequence[Path], junit: Path | None = None) -> Mapping[Path, Format]:
    """The formats of the files that a report is to be written to.

    Asked before the work, so that a report that took minutes is not lost for the want of a folder.

    Raises:
        UsageError: A suffix stands for no format, or a folder is not there.
    """
    wanted = {file: format_of(file) for file in outputs}
    if junit:
        wanted[junit] = format_named("junit")
    for file in wanted:
        if not file.parent.is_dir():
            raise UsageError(f"{file}: there is no folder {file.parent}", hint=f"make it first: mkdir -p {file.parent}")
    return wanted


def finish(report: Report, name: str, files: Mapping[Path, Format]) -> None:
    """Write a report to its files and print it; a report with findings ends the command with exit status 1."""
    for file, form in files.items():
        with replacing(file) as stream:
            stream.write(_encoded(form.write(report)))
    click.echo(_encoded(format_named(name).write(report, color=_colorful())), nl=False)
    if not report.passed:
        raise click.exceptions.Exit(1)


def finish_all(reports: Sequence[Report], name: str) -> None:
    """Print several reports and a table of them; one with findings ends the command with exit status 1.

    Args:
        reports: In their order.
        name: `text` or `json`.
    """
    passed = all(report.passed for report in reports)
    if name == "json":
        written = [json.loads(format_named(name).write(report)) for report in reports]
        print_json({"schema": 1, "passed": passed, "reports": written})
    else:
        for report in reports:
            click.echo(_encoded(format_named(name).write(report, color=_colorful())))
        click.echo(table(("FACTS", "RESULT", "FAILED", "NOT PROVEN", "FIRST FAILURES"), map(_row, reports)))
    if not passed:
        raise click.exceptions.Exit(1)


def _row(report: Report) -> tuple[str, ...]:
    failed = report.failed
    unproven = [each for each in report.results if isinstance(each.outcome, NotProven)]
    first = ", ".join(result.id for result in failed[:_FIRST])
    more = f" +{len(failed) - _FIRST}" if len(failed) > _FIRST else ""
    result = "passed" if report.passed else "FAILED"
    return (report.subject, result, str(len(failed)), str(len(unproven)), f"{first}{more}" or "-")


def _colorful() -> bool:
    """Colours for a person who did not ask for none (no-color.org)."""
    return sys.stdout.isatty() and not command_settings().environ.get("NO_COLOR")


def _encoded(text: str) -> bytes:
    r"""UTF-8; a half of a surrogate pair, as paths that are no text have it, becomes `\udcXX`, as JSON writes it."""
    return text.encode("utf-8", "backslashreplace")
