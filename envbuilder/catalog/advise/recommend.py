"""Recommendation of environments for a query and machines, with reasons."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from envbuilder.catalog.advise.advice import Advice, AdviceReason, Answer, Change, Spec, Topic, Verdict, Wanted, Weight
from envbuilder.catalog.advise.candidates import Candidate, candidates, proven_on, steps
from envbuilder.catalog.advise.hardware import HardwareView, view
from envbuilder.catalog.advise.ranking import order
from envbuilder.catalog.advise.software import keras_reasons, keras_to_install, software_reasons
from envbuilder.catalog.buildable import Buildability, Buildable, on_base
from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.machine import Host, HostGpu, capability_of
from envbuilder.catalog.vendor_builds import VendorBuild
from envbuilder.core.versions import Release


def advise(catalog: Catalog, wanted: Wanted) -> Answer:
    """Return the environments for a query; if there are none, the nearest ones and the changes that they need.

    Returns:
        At least one environment, fitting or near, if the catalog has a row of the requested kind.
    """
    found = every(catalog, wanted)
    fitting = _each_row_first(tuple(advice for advice in found if advice.verdict is not Verdict.NOT))
    nearest = () if fitting else _nearest(found)
    return Answer(fitting=fitting, nearest=nearest, elsewhere=_elsewhere(catalog, wanted, fitting or nearest))


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


def every(catalog: Catalog, wanted: Wanted) -> tuple[Advice, ...]:
    """Return all advice, best first; environments that fit come before those that do not."""
    ranked = [_advice(catalog, wanted, candidate) for candidate in candidates(catalog, wanted)]
    ranked.sort(key=lambda placed: order(placed[0], placed[1], wanted))
    return tuple(advice for advice, _ in ranked)


def _advice(catalog: Catalog, wanted: Wanted, candidate: Candidate) -> tuple[Advice, int]:
    version = candidate.row.framework.version
    hardware: HardwareView = view(catalog.cuda, wanted, candidate)
    build = on_base(candidate.row, candidate.choice, wanted.inventory) if wanted.inventory else None
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
                *software_reasons(wanted, candidate),
                *keras_reasons(catalog.keras, wanted.keras, version),
                *hardware.reasons,
                *(_build_reasons(build) if build else ()),
            ),
            steps=(
                *((build.command,) if build and build.command else ()),
                *steps(candidate, keras_to_install(catalog.keras, wanted.keras, version)),
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


def _elsewhere(catalog: Catalog, wanted: Wanted, given: tuple[Advice, ...]) -> tuple[VendorBuild, ...]:
    """Return NVIDIA's own builds of a requested major release, if no environment of it is sure to run on every GPU."""
    capabilities = [
        capability
        for host in wanted.hosts
        for gpu in host.gpus or ()
        if (capability := capability_of(catalog.cuda, gpu)) is not None
    ]
    majors = _majors(catalog, wanted) or {advice.tensorflow.major for advice in given[:1]}
    served = {advice.tensorflow.major for advice in given if advice.verdict is not Verdict.NOT and _is_sure(advice)}
    return tuple(
        build
        for build in catalog.vendor_builds
        if capabilities
        and build.tensorflow.major in majors - served
        and all(build.oldest <= capability <= build.newest for capability in capabilities)
    )


def _majors(catalog: Catalog, wanted: Wanted) -> set[int]:
    """Return the requested major releases of TensorFlow; empty if none was requested."""
    asked = wanted.tensorflow
    if asked is None:
        return set()
    return {row.framework.version.major for row in catalog.environments if any(_versions(row, asked))}


def _versions(row: Environment, asked: Spec) -> Iterator[Version]:
    every_release = (row.framework.version, *(other.version for other in row.framework.others))
    return (version for version in every_release if version in asked)


def _is_sure(advice: Advice) -> bool:
    """Return True if every GPU runs it, at once or after the driver has compiled kernels."""
    return not any(
        reason.topic is Topic.GPU and (reason.is_doubt or reason.weight is Weight.AGAINST) for reason in advice.reasons
    )
