"""A report about a fleet as one HTML page, in the style of the reports of images."""

from __future__ import annotations

import json
from collections.abc import Iterator

from envbuilder.catalog.verdicts import WORDS, Fit
from envbuilder.cluster.fleet.fleet_report import FleetReport, ImageVerdicts, SchedulerConstraint
from envbuilder.cluster.fleet.report.wording import (
    NO_LIST,
    changed_value,
    misfits,
    node_count,
    shortened,
    tally,
    unproven_reasons,
    update_effects,
    update_title,
)
from envbuilder.diagnostics.report.html_page import html_page


def fleet_page(report: FleetReport) -> str:
    """Return the report as one page."""
    return html_page(
        "envbuilder.cluster.fleet.report",
        "fleet.html.j2",
        report=report,
        tally=tally(report),
        no_list=NO_LIST,
        words={fit: WORDS[fit] for fit in Fit},
        images=[(image, _shares(image), tuple(_pieces(image, len(report.nodes)))) for image in report.images],
        unproven=unproven_reasons(report),
        misfits=[(image.image.name, found) for image in report.images if (found := misfits(image))],
        changed_value=changed_value,
        node_count=node_count,
        selector=_selector,
        shortened=shortened,
        slurm_conf=_slurm_conf,
        tone=_tone,
        update_effects=update_effects,
        update_title=update_title,
    )


def _tone(image: ImageVerdicts, fit: Fit) -> Fit:
    """Return the verdict whose colour stands for another: a CPU environment on a processor is as it should be."""
    return Fit.FITS if image.image.runs(fit) and fit is Fit.CPU_ONLY else fit


def _shares(image: ImageVerdicts) -> str:
    """Return the number of nodes with each verdict, in words."""
    return ", ".join(f"{count} {WORDS[fit]}" for fit in Fit if (count := image.count(fit))) or "no node"


def _pieces(image: ImageVerdicts, total: int) -> Iterator[tuple[str, str, str]]:
    """Yield the verdicts as one bar over all nodes: colour, beginning and width; nodes without facts stay empty."""
    start = 0.0
    for fit in Fit:
        share = 100 * image.count(fit) / total
        if share:
            yield _tone(image, fit).value, f"{start:.2f}%", f"{share:.2f}%"
        start += share


def _selector(constraint: SchedulerConstraint) -> str:
    return "\n".join(("nodeSelectorTerms:", *(f"- {json.dumps(term)}" for term in constraint.kubernetes)))


def _slurm_conf(report: FleetReport) -> str:
    return "\n".join(f"NodeName={shortened(each.nodes)} Feature={','.join(each.features)}" for each in report.features)
