"""Comparison of two systems, the most important differences first."""

from __future__ import annotations

from envbuilder.catalog.environments import Catalog
from envbuilder.core.errors import UsageError
from envbuilder.diagnostics.compare.comparison import Comparison, Difference, System, SystemKind
from envbuilder.diagnostics.compare.gpus import MEMORY_PROPERTIES, MODEL_PROPERTIES, SETTING_PROPERTIES
from envbuilder.diagnostics.compare.machines import HOST_PROPERTIES, SYSTEM_PROPERTIES
from envbuilder.diagnostics.compare.software import PACKAGE_PROPERTIES, POLICY_PROPERTIES, VERSION_PROPERTIES

_PROPERTIES = (
    *MEMORY_PROPERTIES,
    *POLICY_PROPERTIES,
    *MODEL_PROPERTIES,
    *VERSION_PROPERTIES,
    *HOST_PROPERTIES,
    *SETTING_PROPERTIES,
    *SYSTEM_PROPERTIES,
    *PACKAGE_PROPERTIES,
)
OF_GPUS = frozenset(topic.name for topic in (*MEMORY_PROPERTIES, *MODEL_PROPERTIES, *SETTING_PROPERTIES)) | {
    "driver",
    "CUDA that the driver supports",
    "TF32",
}
"""Topics that do not apply to a machine without GPUs."""


def compare(catalog: Catalog, a: System, b: System) -> Comparison:
    """Return all differences between two systems.

    Raises:
        UsageError: One is a lock, the other has facts of a machine only: they have nothing in common.
    """
    kinds = {a.kind, b.kind}
    for system in (a, b):
        if len(kinds) > 1 and system.kind is SystemKind.FACTS and not system.packages:
            raise UsageError(
                f"{system.name} is about a machine and the other is a lock: nothing can be compared",
                hint=f"which environments run on that machine: `envbuilder list --fits {system.name}`",
            )
    compared = [each for each in _PROPERTIES if each.is_software or SystemKind.LOCK not in kinds]
    found = [difference for each in compared if (difference := each.compare(a, b, catalog))]
    return Comparison(
        a=a,
        b=b,
        differences=tuple(each for each in found if (each.is_known and each.a != each.b) or each.effects),
        unknown=tuple(each for each in found if not each.is_known and not _is_without(each, a, b)),
        same=tuple(each.topic for each in found if each.is_known and each.a == each.b and not each.effects),
    )


def _is_without(difference: Difference, a: System, b: System) -> bool:
    """Return True if the topic is unknown because one has no GPU."""
    missing = b if difference.a else a
    return missing.gpus == () and difference.topic in OF_GPUS
