"""Order of advice, and the price of changes."""

from __future__ import annotations

from packaging.version import Version

from envbuilder.catalog.advise.advice import Advice, Spec, Topic, Wanted, Weight
from envbuilder.catalog.advise.candidates import python_distance
from envbuilder.catalog.cuda import Coverage
from envbuilder.catalog.evidence import Grade

PRICES = {
    Topic.PATCH: 1,
    Topic.PYTHON: 2,
    Topic.BASE: 3,
    Topic.KERAS: 5,
    Topic.CUDA: 6,
    Topic.CUDNN: 6,
    Topic.GLIBC: 6,
    Topic.DRIVER: 8,
    Topic.TENSORFLOW: 12,
    # Higher than the price of another TensorFlow: an environment that cannot be built must not come first.
    Topic.BUILD: 14,
    Topic.KIND: 30,
    Topic.GPU: 40,
    Topic.PROCESSOR: 60,
}
"""Relative price of each kind of change; only the order, and which two together exceed a third, matter."""

_COVERAGE = (Coverage.MACHINE_CODE, None, Coverage.JIT, Coverage.NONE)


def price(advice: Advice) -> int:
    """Return the total price of the changes of an advice; 0 for one that fits."""
    return sum(PRICES[change.topic] for change in advice.changes)


def order(advice: Advice, place: int, wanted: Wanted) -> tuple[object, ...]:
    """Return the sort key that puts the best advice first.

    Environments that fit come first. Those that do not are ordered by the price of their changes, then by the distance
    of TensorFlow and interpreter from the requested ones, then by the size of the driver update. Ties are broken by:
    rows of the requested kind, environments that are certain to fit, machine code for every GPU, stronger evidence,
    lower costs, newer TensorFlow, the row's own order of bases.

    Args:
        advice: The advice to rank.
        place: Place of its base in the row's order.
        wanted: The query.
    """
    version = advice.tensorflow
    return (
        price(advice),
        distance(wanted.tensorflow, version),
        python_distance(wanted.python, advice.python),
        _driver_step(advice),
        any(reason.topic is Topic.KIND and reason.weight is Weight.COST for reason in advice.reasons),
        advice.is_doubtful,
        advice.buildable.verdict.rank if advice.buildable else 0,
        _COVERAGE.index(advice.coverage),
        -_proof(advice.proven).rank,
        advice.costs,
        tuple(-part for part in version.release),
        place,
        tuple(-part for part in advice.python.parts),
        advice.environment,
    )


def _proof(proven: Grade) -> Grade:
    """Return the grade that counts: an image with stand-ins proves no more about CUDA than a run on a CPU."""
    return Grade.CPU if proven is Grade.IMAGE_WITH_STAND_INS else proven


def _driver_step(advice: Advice) -> tuple[int, ...]:
    """Return the driver to update to, if the advice requires an update; smaller updates sort first."""
    if advice.driver is None or all(change.topic is not Topic.DRIVER for change in advice.changes):
        return ()
    return advice.driver.parts


def distance(asked: Spec | None, version: Version) -> int:
    """Return the distance of a TensorFlow from the requested range in minor releases; 0 inside it.

    Example:
        >>> from packaging.specifiers import SpecifierSet
        >>> asked = Spec(text=">=2.4,<2.6", versions=SpecifierSet(">=2.4,<2.6"))
        >>> distance(asked, Version("2.5.3")), distance(asked, Version("2.7.0")), distance(asked, Version("1.15.5"))
        (0, 2, 5)
    """
    if asked is None or version in asked:
        return 0
    away = (
        abs(_place(version) - _place(Version(each.version.removesuffix(".*")))) + (each.operator in _OUTSIDE)
        for each in asked.versions
    )
    return min(away, default=0)


_OUTSIDE = frozenset({"<", ">", "!="})
"""Operators that exclude their own version from the range."""

_FIRST_OF_2 = 16
"""TensorFlow 2.0 came after 1.15."""


def _place(version: Version) -> int:
    """Return the position of a minor release in the order of publication."""
    major, minor, *_ = (*version.release, 0)
    return minor if major < 2 else (major - 2) * 1000 + _FIRST_OF_2 + minor
