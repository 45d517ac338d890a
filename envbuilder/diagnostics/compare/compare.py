"""Comparison of two sides, the most important differences first."""

from __future__ import annotations

from collections.abc import Callable

from envbuilder.catalog.environments import Catalog
from envbuilder.core.errors import UsageError
from envbuilder.diagnostics.compare.comparison import Comparison, Difference, Side, SideKind
from envbuilder.diagnostics.compare.gpus import MEMORY_PROPERTIES, MODEL_PROPERTIES, SETTING_PROPERTIES
from envbuilder.diagnostics.compare.machines import HOST_PROPERTIES, SYSTEM_PROPERTIES
from envbuilder.diagnostics.compare.properties import Pair
from envbuilder.diagnostics.compare.software import PACKAGE_PROPERTIES, POLICY_PROPERTIES, VERSION_PROPERTIES

_TABLE = (
    *MEMORY_PROPERTIES,
    *POLICY_PROPERTIES,
    *MODEL_PROPERTIES,
    *VERSION_PROPERTIES,
    *HOST_PROPERTIES,
    *SETTING_PROPERTIES,
    *SYSTEM_PROPERTIES,
    *PACKAGE_PROPERTIES,
)
COMPARISONS: tuple[tuple[Callable[[Pair], Difference | None], bool], ...] = tuple(
    (topic.compare, topic.is_software) for topic in _TABLE
)
"""Readers of each topic, with True for those that a lock has; in the order of importance."""

OF_GPUS = frozenset(topic.name for topic in (*MEMORY_PROPERTIES, *MODEL_PROPERTIES, *SETTING_PROPERTIES)) | {
    "driver",
    "CUDA that the driver supports",
    "TF32",
}
"""Topics that do not apply to a machine without GPUs."""


def compare(catalog: Catalog, a: Side, b: Side) -> Comparison:
    """Return all differences between two sides.

    Raises:
        UsageError: One side is a lock, the other has facts of a machine only: they have nothing in common.
    """
    kinds = {a.kind, b.kind}
    for side in (a, b):
        if len(kinds) > 1 and side.kind is SideKind.FACTS and not side.packages:
            raise UsageError(
                f"{side.name} is about a machine and the other is a lock: nothing can be compared",
                hint=f"which environments run on that machine: `envbuilder list --fits {side.name}`",
            )
    pair = Pair(a=a, b=b, catalog=catalog)
    software_only = SideKind.LOCK in kinds
    looked = [compare(pair) for compare, is_software in COMPARISONS if is_software or not software_only]
    found = [difference for difference in looked if difference is not None]
    return Comparison(
        a=a,
        b=b,
        differences=tuple(each for each in found if (each.is_known and each.a != each.b) or each.effects),
        unknown=tuple(each for each in found if not each.is_known and not _is_without(each, a, b)),
        same=tuple(each.topic for each in found if each.is_known and each.a == each.b and not each.effects),
    )


def _is_without(difference: Difference, a: Side, b: Side) -> bool:
    """Return True if the topic is unknown on a side because it has no GPU."""
    missing = b if difference.a else a
    return missing.gpus == () and difference.topic in OF_GPUS
