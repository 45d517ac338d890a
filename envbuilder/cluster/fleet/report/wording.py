"""Sentences that all formats of a report about a fleet share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from envbuilder.catalog.verdicts import WORDS, Fit, why
from envbuilder.cluster.fleet.fleet_report import DriverUpdate, FleetFinding, FleetReport, ImageVerdicts
from envbuilder.cluster.fleet.node_groups import NodeGroup
from envbuilder.cluster.fleet.node_names import fold_names

NO_LIST = "the expected nodes are not known (no nodes.txt): a node that did not answer cannot be noticed"
_LONGEST = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """Groups on which an image does not run for the same reason.

    Attributes:
        reasons: Sentences of the judge.
        groups: At least one, largest first.
    """

    fit: Fit
    reasons: tuple[str, ...]
    groups: tuple[NodeGroup, ...]

    @property
    def count(self) -> int:
        """Number of nodes."""
        return sum(len(group.nodes) for group in self.groups)


def misfits(image: ImageVerdicts) -> tuple[Misfit, ...]:
    """Return the groups that do not run an image, those with the same reason together; most nodes first."""
    found: dict[tuple[Fit, tuple[str, ...]], list[NodeGroup]] = {}
    for each in image.groups:
        if not each.runs:
            found.setdefault((each.compatibility.fit, why(each.compatibility)), []).append(each.group)
    made = [Misfit(fit=fit, reasons=reasons, groups=tuple(groups)) for (fit, reasons), groups in found.items()]
    return tuple(sorted(made, key=lambda misfit: -misfit.count))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnprovenNodes:
    """Nodes of which nothing is known for the same reason.

    Attributes:
        kind: `silent`, or `unreadable facts`.
        why: The reason; NODE stands for the name of the node if they are several.
        nodes: Names, sorted; at least one.
    """

    kind: str
    why: str
    nodes: tuple[str, ...]


def unproven_reasons(report: FleetReport) -> tuple[UnprovenNodes, ...]:
    """Return the nodes without facts by their reason: silent ones first, most nodes first."""
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for silent in report.silent:
        found.setdefault(("silent", silent.why.replace(silent.node, "NODE")), []).append((silent.node, silent.why))
    for each in report.unreadable:
        why_not = "; ".join(map(str, each.faults))
        found.setdefault(("unreadable facts", why_not.replace(each.node, "NODE")), []).append((each.node, why_not))
    made = [
        UnprovenNodes(kind=kind, why=shared if len(nodes) > 1 else nodes[0][1], nodes=tuple(name for name, _ in nodes))
        for (kind, shared), nodes in found.items()
    ]
    return tuple(sorted(made, key=lambda each: (each.kind, -len(each.nodes))))


def verdict_words(fit: Fit) -> str:
    """Return a verdict as the end of `IMAGE on NODES: `."""
    return "does not run" if fit is Fit.NO else WORDS[fit]


def node_count(count: int) -> str:
    """Return a number of nodes in words.

    Example:
        >>> node_count(1), node_count(212)
        ('1 node', '212 nodes')
    """
    return f"{count} node{'' if count == 1 else 's'}"


def shortened(names: Iterable[str]) -> str:
    """Return a list of names of readable length; the full one is in the JSON document."""
    folded = fold_names(names)
    if len(folded) <= _LONGEST:
        return folded
    return f"{folded[:_LONGEST].rpartition(',')[0]}, …"


def update_title(update: DriverUpdate) -> str:
    """Return an update of the driver as an instruction."""
    now = ", ".join(map(str, update.drivers))
    return f"update the driver of {node_count(len(update.nodes))} from {now} to {update.to} or later"


def update_effects(update: DriverUpdate) -> tuple[str, ...]:
    """Return what an update of the driver changes, in sentences."""
    return (
        *(f"{effect.image} runs on {node_count(len(effect.nodes))} in addition" for effect in update.gains),
        *(f"{effect.image} no longer runs on {node_count(len(effect.nodes))}" for effect in update.losses),
    )


def finding_place(found: FleetFinding) -> str:
    """Return the number of nodes of a finding, and whether they differ in its text."""
    others = ", with other values on some" if found.others else ""
    return f"{node_count(len(found.nodes))}{others}"


def changed_value(before: str, now: str) -> str:
    """Return a change in one phrase; an unknown value is named as such."""
    return f"{before or 'not known'} → {now or 'not known'}"


def tally(report: FleetReport) -> str:
    """Return the numbers of nodes by what is known of them."""
    counts = (
        (report.judged, "with facts"),
        (len(report.silent), "silent"),
        (len(report.unreadable), "with unreadable facts"),
    )
    return ", ".join(f"{count} {what}" for count, what in counts if count) or "no nodes"
