"""Which advice comes first, and what a change costs."""

from __future__ import annotations

from packaging.version import Version

from envbuilder.catalog.advise.advice import Advice, Spec, Topic, Wanted, Weight
from envbuilder.catalog.advise.candidates import python_distance
from envbuilder.catalog.cuda import Coverage

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
    # More than another TensorFlow: what cannot be built is no first choice.
    Topic.BUILD: 14,
    Topic.KIND: 30,
    Topic.GPU: 40,
    Topic.PROCESSOR: 60,
}
"""What a change costs those who must make it, in no unit: only the order, and which two outweigh a third, matter."""

_COVERAGE = (Coverage.MACHINE_CODE, None, Coverage.JIT, Coverage.NONE)


def price(advice: Advice) -> int:
    """What all changes of an advice cost together; 0 for one that fits."""
    return sum(PRICES[change.topic] for change in advice.changes)


def order(advice: Advice, place: int, wanted: Wanted) -> tuple[object, ...]:
    """The key that sorts the best to the front.

    What fits before what does not: that by the price of its changes, then by the distance of TensorFlow and interpreter
    from those asked for, then by the smaller update of the driver. A row of the kind that is wanted, what is sure to
    fit, machine code on every GPU, the stronger evidence, the fewer costs, the newer TensorFlow, the row's own order of
    bases.

    Args:
        advice: What to place.
        place: Place of its base in the row's order.
        wanted: What was asked for.
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
        -advice.proven.rank,
        advice.costs,
        tuple(-part for part in version.release),
        place,
        tuple(-part for part in advice.python.parts),
        advice.environment,
    )


def _driver_step(advice: Advice) -> tuple[int, ...]:
    """The driver to update to, for what asks for that: the smaller step goes first."""
    if advice.driver is None or all(change.topic is not Topic.DRIVER for change in advice.changes):
        return ()
    return advice.driver.parts


def distance(asked: Spec | None, version: Version) -> int:
    """How many minor releases a TensorFlow is away from the range that was asked for; 0 inside it.

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
"""Operators whose version is itself out of the range."""

_FIRST_OF_2 = 16
"""TensorFlow 2.0 came after 1.15."""


def _place(version: Version) -> int:
    """The number of a minor release in the order in which they came."""
    major, minor, *_ = (*version.release, 0)
    return minor if major < 2 else (major - 2) * 1000 + _FIRST_OF_2 + minor
