"""Reports on standard output and in files, and their exit status."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from envbuilder.cli.options import grouped
from envbuilder.cli.output.printing import WIDEST, columns_or, json_option, meaning, print_json, table
from envbuilder.cli.output.terminal import TERMINAL, Meaning
from envbuilder.core.errors import UsageError
from envbuilder.core.files import replacing
from envbuilder.diagnostics.checks.results import NotProven, Report
from envbuilder.diagnostics.report.registry import FORMATS, Format, format_named, format_of
from envbuilder.diagnostics.report.summary import OutcomeKind
from envbuilder.diagnostics.report.text_format import WIDTH, Colors, text_report

_FIRST = 3
COLORS = Colors(
    kinds={
        OutcomeKind.FAILED: Meaning.BAD,
        OutcomeKind.NOT_PROVEN: Meaning.DOUBTFUL,
        OutcomeKind.PASSED: Meaning.GOOD,
    },
    remedy=Meaning.NEUTRAL,
)
"""Of a report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOutput:
    """The destinations of reports."""

    form: str
    files: Mapping[Path, Format]


def _report_output(
    *, format_name: str, outputs: tuple[Path, ...], as_json: bool, junit_file: Path | None
) -> ReportOutput:
    return ReportOutput(form="json" if as_json else format_name, files=destinations(outputs, junit_file))


report_options = grouped(
    "output",
    _report_output,
    click.option(
        "--format",
        "format_name",
        type=click.Choice(sorted(FORMATS)),
        default="text",
        show_default=True,
        help="Format of the report on standard output.",
    ),
    click.option(
        "-o",
        "--output",
        "outputs",
        type=click.Path(dir_okay=False, path_type=Path),
        multiple=True,
        help="Also write the report to a file: .html, .json, .md, .txt or .xml (JUnit). Repeatable.",
    ),
    json_option,
    click.option(
        "--junit", "junit_file", type=click.Path(dir_okay=False, path_type=Path), help="Also write JUnit XML to a file."
    ),
)
"""Destinations of reports; the command receives a `ReportOutput`."""


def destinations(outputs: Sequence[Path], junit: Path | None = None) -> Mapping[Path, Format]:
    """Return the formats of the files of a report.

    Called before the work, so that a missing directory does not waste the minutes of a validation.

    Raises:
        UsageError: A suffix has no format, or a directory does not exist.
    """
    wanted = {file: format_of(file) for file in outputs}
    if junit:
        wanted[junit] = format_named("junit")
    for file in wanted:
        if not file.parent.is_dir():
            raise UsageError(f"{file}: directory not found: {file.parent}", hint=f"`mkdir -p {file.parent}`")
    return wanted


def finish(reports: Sequence[Report], output: ReportOutput) -> None:
    """Write a report to its files and print it; print several with a table of them.

    A report with findings ends the command with exit status 1.

    Args:
        reports: In their order; at least one, and only one for formats other than text and JSON.
        output: The destinations.
    """
    if len(reports) == 1:
        _write_one(reports[0], output)
    else:
        _print_all(reports, output.form)
    if not all(report.passed for report in reports):
        raise click.exceptions.Exit(1)


def _write_one(report: Report, output: ReportOutput) -> None:
    for file, form in output.files.items():
        with replacing(file) as stream:
            stream.write(_encoded(form(report)))
    click.echo(_encoded(_shown(report, output.form)), nl=False)


def _print_all(reports: Sequence[Report], form: str) -> None:
    if form == "json":
        written = [json.loads(format_named(form)(report)) for report in reports]
        print_json({"schema": 1, "passed": all(report.passed for report in reports), "reports": written})
        return
    for report in reports:
        click.echo(_encoded(_shown(report, form)))
    click.echo(table(("FACTS", "RESULT", "FAILED", "NOT PROVEN", "FIRST FAILURES"), map(_row, reports)))


def _shown(report: Report, form: str) -> str:
    """Return a report in a format, for standard output; text fits a terminal, and has colours there."""
    if form != "text":
        return format_named(form)(report)
    return text_report(
        report, colors=COLORS if TERMINAL.colorful(sys.stdout) else None, columns=min(columns_or(WIDTH), WIDEST)
    )


def _row(report: Report) -> tuple[str, ...]:
    failed = report.failed
    unproven = [each for each in report.results if isinstance(each.outcome, NotProven)]
    first = ", ".join(result.id for result in failed[:_FIRST])
    more = f" +{len(failed) - _FIRST}" if len(failed) > _FIRST else ""
    result = meaning("passed", Meaning.GOOD) if report.passed else meaning("FAILED", Meaning.BAD)
    return (report.subject, result, str(len(failed)), str(len(unproven)), f"{first}{more}" or "-")


def _encoded(text: str) -> bytes:
    r"""Return UTF-8; a half of a surrogate pair, as in undecodable paths, becomes `\udcXX`, as in JSON."""
    return text.encode("utf-8", "backslashreplace")
