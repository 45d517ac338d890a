"""Recommendation of environments for a query and machines, with reasons, in the order of the price of their changes."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from envbuilder.catalog.advise.advice import (
    Advice,
    AdviceReason,
    Change,
    Query,
    Recommendation,
    RequestedRange,
    Topic,
    Verdict,
    Weight,
)
from envbuilder.catalog.advise.candidates import Candidate, candidates, proven_on, python_distance, steps
from envbuilder.catalog.advise.hardware import HardwareView, view
from envbuilder.catalog.advise.software import keras_reasons, keras_to_install, software_reasons
from envbuilder.catalog.buildable import Buildability, Buildable, on_base
from envbuilder.catalog.cuda import Coverage
from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.evidence import Grade
from envbuilder.catalog.gpus import VendorBuild
from envbuilder.catalog.machine import Host, HostGpu, capability_of
from envbuilder.core.versions import Release


def advise(catalog: Catalog, query: Query) -> Recommendation:
    """Return the environments for a query; if there are none, the nearest ones and the changes that they need.

    Returns:
        At least one environment, fitting or near, if the catalog has a row of the requested kind.
    """
    found = every(catalog, query)
    fitting = _each_row_first(tuple(advice for advice in found if advice.verdict is not Verdict.NOT))
    nearest = () if fitting else _nearest(found)
    return Recommendation(fitting=fitting, nearest=nearest, elsewhere=_elsewhere(catalog, query, fitting or nearest))


def _each_row_first(ranked: tuple[Advice, ...]) -> tuple[Advice, ...]:
    """Return the best advice of each row, followed by the rest."""
    first: dict[str, Advice] = {}
    for advice in ranked:
        first.setdefault(advice.environment, advice)
    best = tuple(first.values())
    return (*best, *(advice for advice in ranked if advice is not first[advice.environment]))


def described(driver: Release | None, gpus: tuple[HostGpu, ...]) -> tuple[Host, ...]:
    """Return the machines for a driver and GPUs given without a machine: one for each GPU, all with that driver.

    Returns:
        One machine without GPUs if only the driver is known; none if nothing is.
    """
    if not gpus:
        return (Host(name="", driver=driver, is_described=True),) if driver else ()
    return tuple(Host(name="", driver=driver, gpus=(gpu,), is_described=True) for gpu in dict.fromkeys(gpus))


def every(catalog: Catalog, query: Query) -> tuple[Advice, ...]:
    """Return all advice, best first; environments that fit come before those that do not."""
    ranked = [_advice(catalog, query, candidate) for candidate in candidates(catalog, query)]
    ranked.sort(key=lambda placed: order(placed[0], placed[1], query))
    return tuple(advice for advice, _ in ranked)


def _advice(catalog: Catalog, query: Query, candidate: Candidate) -> tuple[Advice, int]:
    version = candidate.row.framework.version
    hardware: HardwareView = view(catalog.cuda, query, candidate)
    build = on_base(candidate.row, candidate.choice, query.inventory) if query.inventory else None
    return (
        Advice(
            environment=candidate.own.id,
            tensorflow=version,
            is_own_release=candidate.is_own_release,
            python=candidate.choice.python,
            base=candidate.choice.system.id,
            cuda=candidate.choice.cuda if candidate.row.cuda else None,
            cudnn=candidate.choice.cudnn if candidate.row.cuda else None,
            driver=hardware.driver,
            coverage=hardware.coverage,
            fit=hardware.fit,
            buildable=build,
            proven=proven_on(candidate.row, candidate.choice),
            reasons=(
                *software_reasons(query, candidate),
                *keras_reasons(catalog.keras, query.keras, version),
                *hardware.reasons,
                *(_build_reasons(build) if build else ()),
            ),
            steps=(
                *((build.command,) if build and build.command else ()),
                *steps(candidate, keras_to_install(catalog.keras, query.keras, version)),
            ),
        ),
        candidate.place,
    )


def _build_reasons(build: Buildable) -> Iterator[AdviceReason]:
    """Yield the reasons why an environment cannot, or may not, be built on this machine."""
    text = "; ".join(build.reasons)
    match build.verdict:
        case Buildability.NO:
            change = Change(topic=Topic.BUILD, text=build.hint)
            yield AdviceReason(
                topic=Topic.BUILD, weight=Weight.AGAINST, text=f"it cannot be built from here: {text}", change=change
            )
        case Buildability.UNKNOWN:
            yield AdviceReason(topic=Topic.BUILD, weight=Weight.COST, text=f"it may not be buildable from here: {text}")
        case Buildability.YES:
            return


def _nearest(ranked: tuple[Advice, ...]) -> tuple[Advice, ...]:
    """Return the cheapest advice for each kind of change; many rows need the same one, such as a newer driver."""
    found: dict[frozenset[Topic], Advice] = {}
    for advice in ranked:
        found.setdefault(frozenset(change.topic for change in advice.changes), advice)
    # Drop an advice that needs all kinds of change of another one, and more.
    return tuple(
        advice for topics, advice in found.items() if not any(other < topics for other in found if other is not topics)
    )


def _elsewhere(catalog: Catalog, query: Query, given: tuple[Advice, ...]) -> tuple[VendorBuild, ...]:
    """Return NVIDIA's own builds of a requested major release, if no environment of it is sure to run on every GPU."""
    capabilities = [
        capability
        for host in query.hosts
        for gpu in host.gpus or ()
        if (capability := capability_of(catalog.cuda, gpu)) is not None
    ]
    majors = _majors(catalog, query) or {advice.tensorflow.major for advice in given[:1]}
    served = {advice.tensorflow.major for advice in given if advice.verdict is not Verdict.NOT and _is_sure(advice)}
    return tuple(
        build
        for build in catalog.vendor_builds
        if capabilities
        and build.tensorflow.major in majors - served
        and all(build.oldest <= capability <= build.newest for capability in capabilities)
    )


def _majors(catalog: Catalog, query: Query) -> set[int]:
    """Return the requested major releases of TensorFlow; empty if none was requested."""
    asked = query.tensorflow
    if asked is None:
        return set()
    return {row.framework.version.major for row in catalog.environments if any(_versions(row, asked))}


def _versions(row: Environment, asked: RequestedRange) -> Iterator[Version]:
    every_release = (row.framework.version, *(other.version for other in row.framework.others))
    return (version for version in every_release if version in asked)


def _is_sure(advice: Advice) -> bool:
    """Return True if every GPU runs it, at once or after the driver has compiled kernels."""
    return not any(
        reason.topic is Topic.GPU and (reason.is_doubt or reason.weight is Weight.AGAINST) for reason in advice.reasons
    )


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


def order(advice: Advice, place: int, query: Query) -> tuple[object, ...]:
    """Return the sort key that puts the best advice first.

    Environments that fit come first. Those that do not are ordered by the price of their changes, then by the distance
    of TensorFlow and interpreter from the requested ones, then by the size of the driver update. Ties are broken by:
    rows of the requested kind, environments that are certain to fit, machine code for every GPU, stronger evidence,
    lower costs, newer TensorFlow, the row's own order of bases.
    """
    version = advice.tensorflow
    return (
        price(advice),
        _distance(query.tensorflow, version),
        python_distance(query.python, advice.python),
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


def _distance(asked: RequestedRange | None, version: Version) -> int:
    """Return the distance of a TensorFlow from the requested range in minor releases; 0 inside it.

    Example:
        >>> from packaging.specifiers import SpecifierSet
        >>> asked = RequestedRange(text=">=2.4,<2.6", versions=SpecifierSet(">=2.4,<2.6"))
        >>> _distance(asked, Version("2.5.3")), _distance(asked, Version("2.7.0")), _distance(asked, Version("1.15.5"))
        (0, 2, 5)
        >>> asked = RequestedRange(text="0.12", versions=SpecifierSet("==0.12.*"))
        >>> _distance(asked, Version("1.4.1")), _distance(asked, Version("1.12.3"))
        (5, 13)
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
_FIRST_OF_1 = 13
"""TensorFlow 1.0 came after 0.12."""


def _place(version: Version) -> int:
    """Return the position of a minor release in the order of publication."""
    major, minor, *_ = (*version.release, 0)
    if major < 1:
        return minor - _FIRST_OF_1
    return minor if major < 2 else (major - 2) * 1000 + _FIRST_OF_2 + minor
