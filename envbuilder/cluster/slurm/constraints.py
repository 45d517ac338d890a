"""Slurm constraints from the features of the nodes of a cluster.

Slurm compares features by name only, and refuses a job that names a feature which no node has ("Invalid feature
specification"; measured with Slurm 22.05.8, 2026-11-23). So a constraint is made for the features that a cluster has:
`ccMAJORMINOR` for the compute capability of a node's GPUs (`cc80`), and `driverRELEASE` (`driver535.54.03`, or
`driver535` for a node of which only the branch is stated).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from envbuilder.catalog.node_requirements import GpuRequirement, NodeRequirements
from envbuilder.core.errors import UsageError
from envbuilder.core.versions import Release

_CAPABILITY = re.compile(r"cc([0-9]{1,2})([0-9])")
_DRIVER = re.compile(r"driver([0-9]{1,5}(?:\.[0-9]{1,5}){0,2})")


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class NodeFeatures:
    """The features of a node that state its GPUs and its driver.

    Attributes:
        capability: Such as `cc80`.
        driver: Such as `driver535.54.03`.
    """

    capability: str
    driver: str


def feature_names(capability: Release, driver: Release) -> NodeFeatures:
    """Return the features of a node.

    Example:
        >>> feature_names(Release("8.0"), Release("535.54.03"))
        NodeFeatures(capability='cc80', driver='driver535.54.03')
    """
    return NodeFeatures(capability="cc{}{}".format(*capability.head(2)), driver=f"driver{driver}")


def read_features(text: str) -> tuple[NodeFeatures, ...]:
    """Return what the output of `sinfo -h -o %f` states of the GPUs and drivers of a cluster, sorted.

    Lines without both features are nodes of which nothing is known; they are left out.
    """
    lines = [line.replace(",", " ").split() for line in text.splitlines()]
    return tuple(
        sorted(
            {
                NodeFeatures(capability=capability, driver=driver)
                for words in lines
                for capability in words
                if _CAPABILITY.fullmatch(capability)
                for driver in words
                if _DRIVER.fullmatch(driver)
            }
        )
    )


def slurm_constraint(requirements: NodeRequirements, nodes: Iterable[NodeFeatures]) -> str:
    """Return the value of `--constraint` that admits the nodes of some requirements, and no others.

    Returns:
        Such as `(cc70&driver525.60.13)|(cc80&driver535)`; empty for a CPU environment, which needs none.

    Raises:
        UsageError: No such node can run the image.
    """
    if not requirements.uses_gpu:
        return ""
    found = sorted({node for node in nodes if any(_runs(gpu, node) for gpu in requirements.gpus)})
    if not found:
        raise UsageError(
            f"no node of this cluster is known to run {requirements.environment}: none of its features states a compute"
            " capability and a driver that it needs",
            hint="features are such as cc80 and driver535.54.03: `sinfo -h -o %f`; what it needs: `envbuilder show"
            f" {requirements.environment}`",
        )
    return "|".join(f"({node.capability}&{node.driver})" for node in found)


def _runs(gpu: GpuRequirement, node: NodeFeatures) -> bool:
    """Return True if every driver that the features stand for runs the image."""
    capability, driver = _CAPABILITY.fullmatch(node.capability), _DRIVER.fullmatch(node.driver)
    if capability is None or driver is None or gpu.product:
        return False
    if Release(f"{capability[1]}.{capability[2]}") != gpu.capability:
        return False
    release = Release(driver[1])
    if len(release.parts) > 1:
        return any(each.includes(release) for each in gpu.drivers)
    beyond = Release(str(release.major + 1))
    return any(each.least <= release and (each.before is None or beyond <= each.before) for each in gpu.drivers)
