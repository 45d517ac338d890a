"""A report for people: what is wrong first, and last what nobody looked at."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import assert_never

from envbuilder.model.findings import CheckResult, Failed, NotProven, Passed, Report
from envbuilder.reporting.standing import Standing, of_standing, verdict

WIDTH = 100
_COLORS = {Standing.FAILED: "31;1", Standing.NOT_PROVEN: "33", Standing.PASSED: "32"}
_HEADINGS = {Standing.FAILED: "Failed", Standing.NOT_PROVEN: "Not proven", Standing.PASSED: "Passed"}
_UNPRINTABLE = dict.fromkeys((*range(32), *range(127, 160)), "\N{REPLACEMENT CHARACTER}") | {9: " ", 10: " "}


class TextFormat:
    """At most 100 columns; no colour unless asked for."""

    def write(self, report: Report, *, color: bool = False) -> str:
        """The report, grouped by outcome: failures, not proven, passed."""
        lines = [
            *_wrapped(f"{report.subject} ({report.environment})", ""),
            *(line for name, value in report.facts for line in _wrapped(f"{name}: {value}", "  ")),
            *(line for kind in Standing for line in _group(report, kind, color=color)),
            *_listing("Differs from what the wheel was compiled with", report.deviations),
            "",
            _painted(verdict(report), _overall(report), color=color),
            *_listing(f"Tier {report.tier.value} did not prove", report.not_covered),
        ]
        return "\n".join(lines) + "\n"


def _overall(report: Report) -> Standing:
    if not report.results:
        return Standing.NOT_PROVEN
    return Standing.PASSED if report.passed else Standing.FAILED


def _group(report: Report, kind: Standing, *, color: bool) -> Iterator[str]:
    results = of_standing(report, kind)
    if not results:
        return
    yield ""
    yield _painted(_HEADINGS[kind], kind, color=color)
    for result in results:
        yield from _result(result, required=result in report.failed)


def _result(result: CheckResult, *, required: bool) -> Iterator[str]:
    match result.outcome:
        case Passed(seen=seen):
            yield _one_line(f"  {result.id}: {seen}")
        case Failed(problem=problem, remedy=remedy):
            yield from _wrapped(f"{result.id}: {problem}", "  ")
            yield from _wrapped(f"Remedy: {remedy}", "    ")
        case NotProven(reason=reason):
            counts = " (required, so it counts as failed)" if required else ""
            yield from _wrapped(f"{result.id}: {reason}{counts}", "  ")
        case other:
            assert_never(other)


def _listing(heading: str, entries: tuple[str, ...]) -> Iterator[str]:
    if not entries:
        return
    yield ""
    yield heading
    for entry in entries:
        yield from _wrapped(f"- {entry}", "  ")


def _one_line(text: str) -> str:
    clean = text.translate(_UNPRINTABLE)
    return clean if len(clean) <= WIDTH else f"{clean[: WIDTH - 1]}…"


def _wrapped(text: str, indent: str) -> list[str]:
    clean = text.translate(_UNPRINTABLE)
    return textwrap.wrap(clean, WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ")


def _painted(text: str, kind: Standing, *, color: bool) -> str:
    return f"\x1b[{_COLORS[kind]}m{text}\x1b[0m" if color else text
