"""Constraints by which a scheduler starts an image only on nodes that run it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from envbuilder.catalog.compatibility import judge_stack
from envbuilder.catalog.cuda import CudaFacts
from envbuilder.catalog.machine import capability_of, model_named
from envbuilder.catalog.node_requirements import NodeRequirements, describe, node_requirements
from envbuilder.catalog.verdicts import Stack
from envbuilder.cluster.fleet.fleet_report import GroupVerdict, ImageVerdicts, NodeFeatureLine, SchedulerConstraint
from envbuilder.cluster.fleet.node_groups import NodeGroup
from envbuilder.cluster.fleet.node_names import fold_names
from envbuilder.cluster.kubernetes.node_affinity import selector_terms
from envbuilder.cluster.slurm.constraints import NodeFeatures, feature_names, slurm_constraint
from envbuilder.core.errors import UsageError


def scheduler_constraint(facts: CudaFacts, verdicts: ImageVerdicts) -> SchedulerConstraint:
    """Return the constraint for an image."""
    image, stack = verdicts.image, _stack(verdicts)
    requirements = node_requirements(facts, stack, products=_products(facts, verdicts.groups))
    runs: list[NodeGroup] = []
    others: list[NodeGroup] = []
    for each in verdicts.groups:
        fits = image.runs(judge_stack(facts, stack, each.group.host).fit)
        (runs if fits else others).append(each.group)
    features = {found for group in runs for found in _features(facts, group)}
    return SchedulerConstraint(
        image=image.name,
        base=stack.base,
        slurm=_slurm(requirements, features),
        exclude=fold_names(node for group in others for node in group.nodes),
        kubernetes=tuple(_terms(requirements)) if runs else (),
        text=describe(requirements),
    )


def node_features(facts: CudaFacts, groups: Sequence[NodeGroup]) -> tuple[NodeFeatureLine, ...]:
    """Return the features that constraints refer to, for the nodes with a known GPU and driver."""
    lines: dict[tuple[str, ...], list[str]] = {}
    for group in groups:
        found = sorted(_features(facts, group))
        names = tuple(dict.fromkeys(name for each in found for name in (each.capability, each.driver)))
        if names:
            lines.setdefault(names, []).extend(group.nodes)
    return tuple(NodeFeatureLine(nodes=tuple(sorted(nodes)), features=names) for names, nodes in lines.items())


def _stack(verdicts: ImageVerdicts) -> Stack:
    """Return the requirements on the base that most nodes run; an environment has several bases."""
    counts: Counter[str] = Counter()
    for each in verdicts.groups:
        counts[each.compatibility.base] += len(each.group.nodes) * each.runs
    return max(verdicts.image.stacks, key=lambda stack: counts[stack.base])


def _products(facts: CudaFacts, groups: Iterable[GroupVerdict]) -> tuple[str, ...]:
    """Return the models of the fleet that the catalog knows."""
    names = {gpu.name for each in groups for gpu in each.group.host.gpus or () if gpu.name}
    return tuple(sorted(name for name in names if model_named(facts, name) is not None))


def _features(facts: CudaFacts, group: NodeGroup) -> Iterator[NodeFeatures]:
    driver = group.host.driver
    for gpu in group.host.gpus or ():
        capability = capability_of(facts, gpu)
        if capability is not None and driver is not None:
            yield feature_names(capability, driver)


def _slurm(requirements: NodeRequirements, features: Iterable[NodeFeatures]) -> str:
    """Return the constraint; empty if no feature says that a node runs the image, as with forward compatibility."""
    try:
        return slurm_constraint(requirements, features)
    except UsageError:
        return ""


def _terms(requirements: NodeRequirements) -> Iterator[dict[str, object]]:
    for term in selector_terms(requirements):
        yield {"matchExpressions": [condition.document for condition in term]}
