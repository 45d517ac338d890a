"""The reason of a failed proof: the first problem, on one line."""

from __future__ import annotations

from envbuilder.diagnostics.checks.results import CheckResult, Failed, NotProven, Report

_KEPT = 300
"""Maximum length of a reason in characters."""


def first_problem(report: Report) -> str:
    """Return the failure that causes the others, in the words of its check."""
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
    """Return a reason on one line."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return line if len(line) <= _KEPT else f"{line[: _KEPT - 1]}…"
