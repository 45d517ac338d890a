"""A report as JUnit XML for continuous integration.

An unproven check is a skipped test, unless it was required: then it is a failure, because many systems show a skipped
test as green.
"""

from __future__ import annotations

import re
from typing import assert_never
from xml.sax.saxutils import quoteattr  # writes only; nothing is parsed

from envbuilder.diagnostics.checks.results import CheckResult, Failed, NotProven, Passed, Report

# XML 1.0 cannot represent these, not even escaped: https://www.w3.org/TR/xml/#charsets
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_report(report: Report) -> str:
    """Return the report as one `testsuites` element."""
    failures = len(report.failed)
    skipped = sum(isinstance(result.outcome, NotProven) for result in report.results if result not in report.failed)
    counts = f'tests="{len(report.results)}" failures="{failures}" errors="0" skipped="{skipped}"'
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuites {counts}>",
        f'  <testsuite name={xml_attribute(report.subject)} {counts} time="{report.seconds:.3f}">',
        "    <properties>",
        *(
            f"      <property name={xml_attribute(name)} value={xml_attribute(value)}/>"
            for name, value in _facts(report)
        ),
        "    </properties>",
        *(line for result in report.results for line in _case(result, report)),
        "  </testsuite>",
        "</testsuites>",
    ]
    return "\n".join(lines) + "\n"


def _case(result: CheckResult, report: Report) -> list[str]:
    head = f"    <testcase classname={xml_attribute(f'envbuilder.{report.tier.value}')} name={xml_attribute(result.id)}"
    head += "" if result.seconds is None else f' time="{result.seconds:.3f}"'
    inner = _inner(result, failed=result in report.failed)
    return [f"{head}>", f"      {inner}", "    </testcase>"] if inner else [f"{head}/>"]


def _inner(result: CheckResult, *, failed: bool) -> str:
    match result.outcome:
        case Passed():
            return ""
        case Failed(finding=finding):
            return f'<failure type="failed" message={xml_attribute(f"{finding.message}. Remedy: {finding.remedy}")}/>'
        case NotProven(reason=reason):
            kind = 'failure type="not-proven"' if failed else "skipped"
            return f"<{kind} message={xml_attribute(f'not proven: {reason}')}/>"
        case other:
            assert_never(other)


def _facts(report: Report) -> list[tuple[str, str]]:
    return [
        ("environment", report.environment),
        ("tier", report.tier.value),
        *report.facts,
        *(("deviation", deviation) for deviation in report.deviations),
        *(("not covered", text) for text in report.not_covered),
    ]


def xml_attribute(text: str) -> str:
    """Return the value of an attribute, with its quotes; what XML cannot represent is replaced."""
    return quoteattr(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text))
