"""Node affinity on the labels of GPU feature discovery and node feature discovery.

A label holds text, and the operators `Gt` and `Lt` compare it as a number; so a comparison of releases becomes several
terms, one for each number that can decide it. A node is admitted if one term holds.

Source: https://github.com/NVIDIA/k8s-device-plugin/blob/main/docs/gpu-feature-discovery/README.md, table of labels, and
https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#operators, read 2026-11-23.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from envbuilder.catalog.node_requirements import DriverRange, GpuGroup, NodeRequirements
from envbuilder.core.versions import Release

ARCHITECTURE = "kubernetes.io/arch"
AVX = "feature.node.kubernetes.io/cpu-cpuid.AVX"
CAPABILITY = ("nvidia.com/gpu.compute.major", "nvidia.com/gpu.compute.minor")
PRODUCT = "nvidia.com/gpu.product"
MIG_SLICES = "nvidia.com/gpu.slices.gi"
"""Stated on a node whose GPUs are divided by the MIG strategy `single`: each `nvidia.com/gpu` is an instance there."""


class DriverLabels(StrEnum):
    """Names of the labels of the driver's release.

    `driver`: in all releases of GPU feature discovery. `driver-version`: in later ones, which call the first form
    deprecated.
    """

    DRIVER = "driver"
    DRIVER_VERSION = "driver-version"

    @property
    def keys(self) -> tuple[str, str, str]:
        """Labels of major, minor and revision."""
        last = "rev" if self is DriverLabels.DRIVER else "revision"
        return (f"nvidia.com/cuda.{self}.major", f"nvidia.com/cuda.{self}.minor", f"nvidia.com/cuda.{self}.{last}")


class Operator(StrEnum):
    """Operator of a node selector."""

    IN = "In"
    GREATER = "Gt"
    LESS = "Lt"
    MISSING = "DoesNotExist"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCondition:
    """One condition of a node selector term.

    Attributes:
        values: Operands; one for `Gt` and `Lt`, none for `DoesNotExist`.
    """

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    @property
    def document(self) -> dict[str, object]:
        """The condition as in a manifest."""
        found: dict[str, object] = {"key": self.key, "operator": self.operator.value}
        return found | ({"values": list(self.values)} if self.values else {})


Term = tuple[LabelCondition, ...]


def selector_terms(
    requirements: NodeRequirements, labels: DriverLabels = DriverLabels.DRIVER, *, whole_gpus: bool = False
) -> tuple[Term, ...]:
    """Return the node selector terms that admit the nodes of some requirements, and no others.

    Args:
        requirements: The nodes.
        labels: Labels of the driver's release.
        whole_gpus: Whether to exclude nodes that offer MIG instances as `nvidia.com/gpu`: a process can use only one.

    Returns:
        At least one term. A node is admitted if all conditions of a term hold; if no known GPU can run the image, the
        only term holds on no node.
    """
    every = tuple(_every_node(requirements))
    if not requirements.uses_gpu:
        return (every,)
    if whole_gpus:
        every = (*every, LabelCondition(key=MIG_SLICES, operator=Operator.MISSING))
    found = tuple(
        (*every, *gpu, *driver)
        for group in requirements.groups
        for gpu, driver in product(_gpus(group), _drivers(group.drivers, labels))
    )
    return found or ((*every, LabelCondition(key=CAPABILITY[0], operator=Operator.LESS, values=("0",))),)


def _every_node(requirements: NodeRequirements) -> Iterator[LabelCondition]:
    yield LabelCondition(key=ARCHITECTURE, operator=Operator.IN, values=({"x86_64": "amd64"}[requirements.processor],))
    if requirements.needs_avx:
        yield LabelCondition(key=AVX, operator=Operator.IN, values=("true",))


def _gpus(group: GpuGroup) -> Iterator[Term]:
    """Yield the conditions for compute capabilities; majors with the same minors share one term."""
    minors: dict[int, list[int]] = {}
    for capability in group.capabilities:
        major, minor = capability.head(2)
        minors.setdefault(major, []).append(minor)
    majors: dict[tuple[int, ...], list[int]] = {}
    for major, found in minors.items():
        majors.setdefault(tuple(found), []).append(major)
    name = (_among(PRODUCT, group.product.replace(" ", "-")),) if group.product else ()
    for found_minors, found_majors in majors.items():
        yield (*name, _among(CAPABILITY[0], *found_majors), _among(CAPABILITY[1], *found_minors))


def _drivers(ranges: tuple[DriverRange, ...], labels: DriverLabels) -> Iterator[Term]:
    for each in ranges:
        for high in _from(each.least, labels):
            # A term that fixes a branch below the bound needs no second condition.
            if each.before is None or (high[0].operator is Operator.IN and each.least.major < each.before.major):
                yield high
            else:
                yield from ((*high, *low) for low in _below(each.before, labels))


def _from(least: Release, labels: DriverLabels) -> Iterator[Term]:
    """Yield terms that together say: this release or a later one."""
    (major, minor, revision), (first, second, third) = labels.keys, least.head(3)
    if second == third == 0:
        yield (_greater(major, first - 1),)
        return
    yield (_greater(major, first),)
    if third == 0:
        yield (_among(major, first), _greater(minor, second - 1))
        return
    yield (_among(major, first), _greater(minor, second))
    yield (_among(major, first), _among(minor, *_spellings(second)), _greater(revision, third - 1))


def _below(before: Release, labels: DriverLabels) -> Iterator[Term]:
    """Yield terms that together say: an earlier release."""
    (major, minor, revision), (first, second, third) = labels.keys, before.head(3)
    yield (_less(major, first),)
    if second:
        yield (_among(major, first), _less(minor, second))
    if third:
        yield (_among(major, first), _among(minor, *_spellings(second)), _less(revision, third))


def _spellings(number: int) -> tuple[str, ...]:
    """Return the ways in which a driver release writes a number: `05` in `450.51.05`, `5` elsewhere."""
    return tuple(dict.fromkeys((f"{number:02d}", str(number))))


def _among(key: str, *values: object) -> LabelCondition:
    return LabelCondition(key=key, operator=Operator.IN, values=tuple(map(str, values)))


def _greater(key: str, number: int) -> LabelCondition:
    return LabelCondition(key=key, operator=Operator.GREATER, values=(str(number),))


def _less(key: str, number: int) -> LabelCondition:
    return LabelCondition(key=key, operator=Operator.LESS, values=(str(number),))
