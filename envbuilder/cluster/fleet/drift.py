"""Differences of a fleet from an earlier collection of its facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from envbuilder.catalog.environments import Catalog
from envbuilder.cluster.fleet.collection import Collection, NodeFacts
from envbuilder.cluster.fleet.fleet_report import Drift, DriftChange
from envbuilder.diagnostics.compare.compare import compare
from envbuilder.diagnostics.compare.systems import system_of_facts
from envbuilder.diagnostics.facts.facts import Facts

# This changes while a machine runs; it is no drift of its installation.
_PASSING = frozenset({"GPU memory free (fullest GPU)"})

NodeChange: TypeAlias = tuple[str, str, str]
"""Topic, value before, value now; an unknown value is empty."""


def node_changes(catalog: Catalog, before: Facts, now: Facts) -> tuple[NodeChange, ...]:
    """Return the differences of one node from its earlier facts, the most important first."""
    found = compare(catalog, system_of_facts(before, "before"), system_of_facts(now, "now"))
    return tuple(
        (each.topic, each.a, each.b)
        for each in (*found.differences, *found.unknown)
        if each.topic not in _PASSING and each.a != each.b
    )


def earlier_facts(earlier: Collection, node: str) -> Facts | None:
    """Return the facts of a node in an earlier collection; None if it has none."""
    found = earlier.read(node)
    return found.facts if isinstance(found, NodeFacts) else None


def fleet_drift(
    earlier: Collection, changes: Mapping[str, tuple[NodeChange, ...] | None], unproven: Sequence[str]
) -> Drift:
    """Return the drift of a fleet; a node without earlier facts has None as changes, an unproven one no facts now."""
    shared: dict[NodeChange, list[str]] = {}
    for node, found in changes.items():
        for change in found or ():
            shared.setdefault(change, []).append(node)
    ordered = sorted(shared.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    gone = {*unproven, *(node for node in earlier.nodes if node not in changes)}
    return Drift(
        since=str(earlier.folder),
        changes=tuple(
            DriftChange(topic=topic, before=before, now=now, nodes=tuple(sorted(nodes)))
            for (topic, before, now), nodes in ordered
        ),
        new=tuple(sorted(node for node, found in changes.items() if found is None)),
        lost=tuple(node for node in sorted(gone) if earlier_facts(earlier, node) is not None),
        same=sum(found == () for found in changes.values()),
    )
