"""Judge all nodes of a fleet together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import assert_never

from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.machine import Host
from envbuilder.catalog.verdicts import Compatibility
from envbuilder.cluster.fleet.clocks import clock_differs
from envbuilder.cluster.fleet.collection import Collection, NodeFacts, SilentNode, UnreadableNode
from envbuilder.cluster.fleet.drift import NodeChange, earlier_facts, fleet_drift, node_changes
from envbuilder.cluster.fleet.driver_updates import Judge, driver_updates
from envbuilder.cluster.fleet.fleet_images import FleetImage
from envbuilder.cluster.fleet.fleet_report import FleetFinding, FleetReport, GroupVerdict, ImageVerdicts
from envbuilder.cluster.fleet.node_groups import NodeGroup, equal_part, grouped_nodes
from envbuilder.cluster.fleet.scheduler_constraints import node_features, scheduler_constraint
from envbuilder.diagnostics.facts.machine import host_of
from envbuilder.diagnostics.findings import Finding, Severity
from envbuilder.diagnostics.host.machine_view import MachineView
from envbuilder.diagnostics.host.table import findings


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    """What is kept of a node; its facts would fill the memory.

    Attributes:
        host: The machine as the judge sees it.
        findings: Those of `doctor`, and its clock.
        changes: Changes since the earlier collection; None if it has no facts of the node.
    """

    name: str
    host: Host
    findings: tuple[Finding, ...]
    changes: tuple[NodeChange, ...] | None


def check_fleet(
    catalog: Catalog, images: Sequence[FleetImage], collection: Collection, earlier: Collection | None = None
) -> FleetReport:
    """Judge every image on every node of a collection; with an earlier one, the drift since then.

    The names of images are unique.
    """
    nodes: list[_Node] = []
    silent: list[SilentNode] = []
    unreadable: list[UnreadableNode] = []
    for name in collection.nodes:
        match collection.read(name):
            case NodeFacts() as found:
                nodes.append(_node(catalog, found, earlier))
            case SilentNode() as found:
                silent.append(found)
            case UnreadableNode() as found:
                unreadable.append(found)
            case other:
                assert_never(other)
    groups = grouped_nodes((node.name, node.host) for node in nodes)
    judge = _remembering(catalog, images)
    verdicts = tuple(_verdicts(image, groups, judge) for image in images)
    unproven = [*(each.node for each in silent), *(each.node for each in unreadable)]
    changes = {node.name: node.changes for node in nodes}
    return FleetReport(
        name=str(collection.folder),
        nodes=collection.nodes,
        has_list=collection.has_list,
        groups=groups,
        images=verdicts,
        silent=tuple(silent),
        unreadable=tuple(unreadable),
        findings=_shared_findings(nodes),
        updates=driver_updates(verdicts, judge),
        drift=fleet_drift(earlier, changes, unproven) if earlier else None,
        constraints=(),
        features=node_features(catalog.cuda, groups),
    )


def with_constraints(report: FleetReport, catalog: Catalog) -> FleetReport:
    """Return a report with the constraints for schedulers; they take half a second of processor time for each image."""
    return replace(report, constraints=tuple(scheduler_constraint(catalog.cuda, each) for each in report.images))


def _node(catalog: Catalog, found: NodeFacts, earlier: Collection | None) -> _Node:
    before = earlier_facts(earlier, found.node) if earlier else None
    return _Node(
        name=found.node,
        host=equal_part(host_of(found.facts)),
        findings=(*findings(MachineView(facts=found.facts)), *clock_differs(found)),
        changes=node_changes(catalog, before, found.facts) if before else None,
    )


def _remembering(catalog: Catalog, images: Sequence[FleetImage]) -> Judge:
    """Return the judge with a memory: an update of the driver makes equal machines of many groups."""
    named = {image.name: image for image in images}

    @cache
    def judged(name: str, host: Host) -> Compatibility:
        return named[name].judged(catalog.cuda, host)

    return lambda image, host: judged(image.name, host)


def _verdicts(image: FleetImage, groups: Iterable[NodeGroup], judge: Judge) -> ImageVerdicts:
    found = ((group, judge(image, group.host)) for group in groups)
    return ImageVerdicts(
        image=image,
        groups=tuple(
            GroupVerdict(group=group, compatibility=verdict, runs=image.runs(verdict.fit)) for group, verdict in found
        ),
    )


def _shared_findings(nodes: Iterable[_Node]) -> tuple[FleetFinding, ...]:
    """Return the findings of all nodes, each once."""
    found: dict[tuple[str, Severity], list[tuple[str, Finding]]] = {}
    for node in nodes:
        for finding in node.findings:
            found.setdefault((finding.id, finding.severity), []).append((node.name, finding))
    order = list(Severity)
    ordered = sorted(found.items(), key=lambda entry: (order.index(entry[0][1]), -len(entry[1]), entry[0][0]))
    return tuple(
        FleetFinding(
            finding=seen[0][1],
            nodes=tuple(sorted({name for name, _ in seen})),
            others=len({finding.message for _, finding in seen}) > 1,
        )
        for _, seen in ordered
    )
