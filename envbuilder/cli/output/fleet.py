"""Output of `fleet check` as text: the result first, then what to change, reasons, groups and findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from envbuilder.catalog.verdicts import WORDS
from envbuilder.cli.output.compatibility import COLOURS
from envbuilder.cli.output.printing import aligned, folded, section, shell_lines
from envbuilder.cli.output.terminal import Meaning
from envbuilder.cluster.fleet.fleet_report import Drift, FleetReport, ImageVerdicts
from envbuilder.cluster.fleet.report.wording import (
    NO_LIST,
    changed_value,
    finding_place,
    misfits,
    node_count,
    shortened,
    tally,
    unproven_reasons,
    update_effects,
    update_title,
    verdict_words,
)
from envbuilder.diagnostics.findings import Severity

_SEVERITIES = {Severity.PROBLEM: Meaning.BAD, Severity.WARNING: Meaning.DOUBTFUL, Severity.NOTE: Meaning.NEUTRAL}


def fleet_lines(report: FleetReport, columns: int) -> Iterator[str]:
    """Yield all lines."""
    groups = f"{len(report.groups)} group{'' if len(report.groups) == 1 else 's'} of equal nodes"
    yield folded(f"{report.name}: {tally(report)}, {groups}", columns)
    if not report.has_list:
        yield folded(f"  {NO_LIST}", columns)
    yield click.style(folded(report.headline, columns), fg=Meaning.GOOD if report.passed else Meaning.BAD, bold=True)
    for title, lines in (
        ("Where each image runs", _matrix(report, columns)),
        ("Where it does not run", _misfits(report, columns)),
        ("What to change", _updates(report, columns)),
        ("Not proven", _unproven(report, columns)),
        ("Groups of equal nodes", _groups(report, columns)),
        ("Findings", _findings(report, columns)),
        ("Changes since the last collection", _drift(report.drift, columns) if report.drift else ()),
        ("Constraints for Slurm", _constraints(report, columns)),
    ):
        yield from section(title, lines)


def _matrix(report: FleetReport, columns: int) -> Iterator[str]:
    """Yield a table of images and groups; with more groups than fit, the counts by verdict."""
    header = ("IMAGE", "NODES", *(group.id for group in report.groups))
    rows = [
        (image.image.name, str(image.running), *(WORDS[each.compatibility.fit] for each in image.groups))
        for image in report.images
    ]
    lines = list(aligned([header, *rows]))
    if max(map(len, lines)) + 2 <= columns:
        yield from (f"  {line}" for line in lines)
        return
    for image in report.images:
        yield folded(f"  {image.image.name}: {_counts(image)}", columns)


def _counts(image: ImageVerdicts) -> str:
    """Return the numbers of nodes by verdict."""
    return "; ".join(f"{count} {WORDS[fit]}" for fit in WORDS if (count := image.count(fit))) or "no node"


def _misfits(report: FleetReport, columns: int) -> Iterator[str]:
    for image in report.images:
        for misfit in misfits(image):
            ids = " ".join(group.id for group in misfit.groups)
            word = click.style(verdict_words(misfit.fit), fg=COLOURS[misfit.fit])
            yield folded(f"  {image.image.name} on {ids} ({node_count(misfit.count)}): {word}", columns)
            yield from (folded(f"    {reason}", columns) for reason in misfit.reasons)


def _updates(report: FleetReport, columns: int) -> Iterator[str]:
    for update in report.updates:
        yield folded(f"  {update_title(update)}", columns)
        yield from (folded(f"    {effect}", columns) for effect in update_effects(update))
        yield from _names("    ", update.nodes, columns)


def _unproven(report: FleetReport, columns: int) -> Iterator[str]:
    for each in unproven_reasons(report):
        yield f"  {node_count(len(each.nodes))}: {each.kind}"
        yield folded(f"    {each.why}", columns)
        yield from _names("    ", each.nodes, columns)


def _groups(report: FleetReport, columns: int) -> Iterator[str]:
    for group in report.groups:
        yield folded(f"  {group.id}  {node_count(len(group.nodes))}: {group.description}", columns)
        yield from _names("      ", group.nodes, columns)


def _findings(report: FleetReport, columns: int) -> Iterator[str]:
    for each in report.findings:
        finding = each.finding
        severity = click.style(finding.severity.value, fg=_SEVERITIES[finding.severity])
        yield folded(f"  {severity}  {finding.id} ({finding_place(each)})", columns)
        yield folded(f"    {finding.message}", columns)
        if finding.remedies:
            yield folded(f"    → {finding.remedy}", columns)
            for line in finding.remedies[0].command.splitlines():
                yield from shell_lines(line, columns, first="        ")
        yield from _names("    ", each.nodes, columns)


def _drift(drift: Drift, columns: int) -> Iterator[str]:
    yield folded(f"  since {drift.since}: {node_count(drift.same)} without a difference", columns)
    for word, names in (("new", drift.new), ("without facts now", drift.lost)):
        if names:
            yield f"  {word}: {node_count(len(names))}"
            yield from _names("    ", names, columns)
    for each in drift.changes:
        change = f"{each.topic}: {changed_value(each.before, each.now)} ({node_count(len(each.nodes))})"
        yield folded(f"  {change}", columns)
        yield from _names("    ", each.nodes, columns)


def _constraints(report: FleetReport, columns: int) -> Iterator[str]:
    for each in report.constraints:
        if each.slurm:
            yield f"  {each.image}"
            yield folded(f"    --constraint={each.slurm}", columns)
    if any(each.slurm for each in report.constraints):
        yield folded("  with features of the nodes that --json and the HTML page list for slurm.conf", columns)


def _names(indent: str, names: Sequence[str], columns: int) -> Iterator[str]:
    """Yield names of nodes; a list breaks only at its commas."""
    yield folded(f"{indent}{shortened(names).replace(',', ', ')}", columns).replace(", ", ",")
