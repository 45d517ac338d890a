"""Evidence of an image: results for another base or another interpreter of the row count for less."""

from __future__ import annotations

from envbuilder.catalog.environments import BaseChoice, Environment
from envbuilder.catalog.evidence import BuiltImage, Evidence, Grade, RanOnCpu, RanOnGpu, Resolved
from envbuilder.core.versions import Release


def proven_on(row: Environment, choice: BaseChoice) -> Grade:
    """Return the strongest evidence for this base with this interpreter."""
    return max(
        (entry.grade for entry in row.evidence if _is_about(entry, choice)),
        key=lambda grade: grade.rank,
        default=Grade.DOCUMENTED,
    )


def _is_about(entry: Evidence, choice: BaseChoice) -> bool:
    match entry:
        case BuiltImage(base=base, python=python):
            return base == choice.system.id and _is_same(python, choice.python)
        case RanOnGpu(base=base):
            return base == choice.system.id
        case RanOnCpu(python=python):
            return _is_same(python, choice.python)
        case Resolved(bases=bases, python=python):
            return choice.system.id in bases and _is_same(python, choice.python)
        case _:
            return True


def _is_same(seen: str, python: Release) -> bool:
    return Release(seen).head(2) == python.head(2)
