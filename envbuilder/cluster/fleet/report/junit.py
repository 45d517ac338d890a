"""A report about a fleet as JUnit XML: a test for each image and node.

A node that did not answer is a failure, not a skipped test, because many systems show a skipped test as green.
"""

from __future__ import annotations

from collections.abc import Iterator

from envbuilder.catalog.verdicts import WORDS, why
from envbuilder.cluster.fleet.fleet_report import FleetReport, ImageVerdicts
from envbuilder.diagnostics.report.junit_format import xml_attribute


def fleet_junit(report: FleetReport) -> str:
    """Return the report as one `testsuites` element: a suite of the answers, and one for each image."""
    suites = [("answers", list(_answers(report))), *((each.image.name, list(_cases(each))) for each in report.images)]
    every = [case for _, cases in suites for case in cases]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites {_counts(every)}>"]
    for name, cases in suites:
        lines.append(f"  <testsuite name={xml_attribute(name)} {_counts(cases)}>")
        for node, failure in cases:
            head = f"    <testcase classname={xml_attribute(f'envbuilder.fleet.{name}')} name={xml_attribute(node)}"
            lines.append(f"{head}>{failure}</testcase>" if failure else f"{head}/>")
        lines.append("  </testsuite>")
    return "\n".join((*lines, "</testsuites>")) + "\n"


def _counts(cases: list[tuple[str, str]]) -> str:
    failures = sum(bool(failure) for _, failure in cases)
    return f'tests="{len(cases)}" failures="{failures}" errors="0" skipped="0"'


def _answers(report: FleetReport) -> Iterator[tuple[str, str]]:
    """Yield each node with its failure: silent, or unreadable; empty for one with facts."""
    failures = {each.node: f"silent: {each.why}" for each in report.silent}
    failures |= {each.node: "; ".join(map(str, each.faults)) for each in report.unreadable}
    for node in report.nodes:
        problem = failures.get(node)
        message = xml_attribute(f"not proven: {problem}")
        yield node, f'<failure type="not-proven" message={message}/>' if problem else ""


def _cases(image: ImageVerdicts) -> Iterator[tuple[str, str]]:
    """Yield each node with facts with its failure: the verdict and its reasons; empty where the image runs."""
    for each in image.groups:
        verdict = each.compatibility
        message = xml_attribute(f"{WORDS[verdict.fit]}: {'; '.join(why(verdict))}")
        failure = "" if each.runs else f'<failure type="{verdict.fit.value}" message={message}/>'
        for node in each.group.nodes:
            yield node, failure
