"""Why something could not be proven: the first thing that went wrong, on one line."""

from __future__ import annotations

from envbuilder.diagnostics.checks.results import CheckResult, Failed, NotProven, Report

_KEPT = 300
"""Characters of a reason that are kept."""


def first_problem(report: Report) -> str:
    """The failure that the others follow from, in the words of its check."""
    failed = sorted(report.failed, key=lambda result: isinstance(result.outcome, NotProven))
    return _problem(failed[0]) if failed else "nothing was proven"


def _problem(result: CheckResult) -> str:
    match result.outcome:
        case Failed(finding=finding):
            return f"{result.title}: {finding.message}"
        case NotProven(reason=reason):
            return f"{result.title}: {reason}"
        case _:
            return result.title


def on_one_line(text: str) -> str:
    """A reason on one line."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= _KEPT else f"{line[: _KEPT - 1]}…"
