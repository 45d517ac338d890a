"""Reasons from the driver: too old, too new, or new enough by one of NVIDIA's rules."""

from __future__ import annotations

from collections.abc import Iterator

from envbuilder.advising.candidates import Candidate
from envbuilder.advising.drivers import DriverNeed, is_older, need_of
from envbuilder.advising.gpu_names import capability_of, is_for_data_centers
from envbuilder.advising.words import on
from envbuilder.model.advice import Change, Reason, Topic, Weight
from envbuilder.model.coverage import GpuSupport
from envbuilder.model.cuda import Coverage, CudaFacts, ForwardCompatibility
from envbuilder.model.hosts import Host, HostGpu
from envbuilder.model.rows import BaseKind
from envbuilder.model.versions import Release


def driver_reasons(
    facts: CudaFacts, host: Host, candidate: Candidate, supports: tuple[GpuSupport, ...]
) -> Iterator[Reason]:
    """Whether the driver of a host runs the CUDA libraries of a candidate, and compiles for its GPUs.

    Args:
        facts: Driver tables.
        host: The machine.
        candidate: What is to run there.
        supports: What each kind of its GPUs gets.
    """
    cuda = candidate.choice.cuda
    if cuda is None:
        return
    usable = tuple(support for support in supports if support.coverage is not Coverage.NONE)
    need = need_of(facts, cuda, usable)
    yield from _beyond(host, need, usable)
    if not need.known:
        text = f"not proven: which driver{on(host)} compiles the PTX is not known"
        yield Reason(topic=Topic.DRIVER, weight=Weight.COST, text=text, price=0, is_doubt=True)
    if host.driver is None:
        yield from _without_release(host, need, cuda)
        return
    yield from _too_new(host, host.driver, usable)
    rule = _forward_rule(facts, host, host.driver, candidate) if is_older(host.driver, need.least) else None
    if rule is not None:
        yield _forward(host, host.driver, need, rule)
    else:
        yield from _compared(host, host.driver, need, candidate)


def _beyond(host: Host, need: DriverNeed, supports: tuple[GpuSupport, ...]) -> Iterator[Reason]:
    """GPUs that no driver new enough knows any more."""
    for support in supports:
        last = support.architecture.last_driver
        if last is not None and need.least.major > last.major:
            capability = support.architecture.capability
            yield Reason(
                topic=Topic.GPU,
                weight=Weight.AGAINST,
                text=f"it needs driver {need.least}, and branch {last} is the last that knows"
                f" {support.architecture.generation} ({capability}){on(host)}",
                asked=str(capability),
                has=str(need.least),
                change=Change(topic=Topic.GPU, text=f"another GPU than one of {capability}"),
            )


def _too_new(host: Host, driver: Release, supports: tuple[GpuSupport, ...]) -> Iterator[Reason]:
    for support in supports:
        last = support.architecture.last_driver
        if last is not None and driver.major > last.major:
            yield Reason(
                topic=Topic.DRIVER,
                weight=Weight.AGAINST,
                text=f"driver {driver}{on(host)} no longer knows {support.architecture.generation}"
                f" ({support.architecture.capability}); branch {last} is the last that does",
                asked=str(driver),
                has=str(last),
                change=Change(topic=Topic.DRIVER, text=f"driver{on(host)} back to branch {last}"),
            )


def _without_release(host: Host, need: DriverNeed, cuda: Release) -> Iterator[Reason]:
    if host.cuda is not None and host.cuda.head(2) >= cuda.head(2):
        yield Reason(
            topic=Topic.DRIVER,
            weight=Weight.FOR,
            text=f"the driver{on(host)} supports CUDA {host.cuda}",
            has=str(cuda),
        )
    elif not host.is_described:
        text = f"the driver{on(host)} is not known; it must be {need.least} or later ({need.why})"
        yield Reason(topic=Topic.DRIVER, weight=Weight.COST, text=text, has=str(need.least), price=0, is_doubt=True)
    else:
        text = f"needs driver {need.least} or later: {need.why}"
        yield Reason(topic=Topic.DRIVER, weight=Weight.FOR, text=text, has=str(need.least))


def _forward_rule(facts: CudaFacts, host: Host, driver: Release, candidate: Candidate) -> ForwardCompatibility | None:
    """Why the driver library inside NVIDIA's image stands in for a newer driver; None where it does not."""
    cuda = candidate.choice.cuda
    if candidate.choice.system.kind is not BaseKind.IMAGE or cuda is None or not host.gpus:
        return None
    for rule in facts.forward:
        is_meant = rule.cuda.head(2) == cuda.head(2) and rule.admits(driver)
        if is_meant and all(_is_served(facts, rule, gpu) for gpu in host.gpus):
            return rule
    return None


def _is_served(facts: CudaFacts, rule: ForwardCompatibility, gpu: HostGpu) -> bool:
    capability = capability_of(facts, gpu)
    return capability is not None and rule.is_for(capability) and is_for_data_centers(facts, gpu.name)


def _forward(host: Host, driver: Release, need: DriverNeed, rule: ForwardCompatibility) -> Reason:
    return Reason(
        topic=Topic.DRIVER,
        weight=Weight.COST,
        text=f"driver {driver}{on(host)} is older than {need.least}, {need.why}: it runs by forward compatibility only"
        f" (cuda-compat in NVIDIA's image of CUDA {rule.cuda}, on data-centre GPUs)",
        asked=str(driver),
        has=str(need.least),
        sources=rule.sources,
        price=2,
    )


def _compared(host: Host, driver: Release, need: DriverNeed, candidate: Candidate) -> Iterator[Reason]:
    older = is_older(driver, need.least)
    asked, has = str(driver), str(need.least)
    if older:
        yield Reason(
            topic=Topic.DRIVER,
            weight=Weight.AGAINST,
            text=f"driver {driver}{on(host)} is too old: it needs {need.least}, {need.why}",
            asked=asked,
            has=has,
            change=Change(topic=Topic.DRIVER, text=f"driver{on(host)} to at least {need.least}"),
        )
    elif older is None:
        yield Reason(
            topic=Topic.DRIVER,
            weight=Weight.COST,
            text=f"it needs driver {need.least} ({need.why}), and {driver} does not say whether it is that new;"
            " `cat /proc/driver/nvidia/version` does",
            asked=asked,
            has=has,
            is_doubt=True,
        )
    elif driver < need.own and candidate.choice.system.kind is BaseKind.IMAGE:
        yield Reason(
            topic=Topic.DRIVER,
            weight=Weight.COST,
            text=f"driver {driver}{on(host)} is older than the {need.own} that came with CUDA"
            f" {candidate.choice.cuda}: it runs by minor-version compatibility, but NVIDIA's image may refuse to start"
            " (NVIDIA_DISABLE_REQUIRE=1 switches that off); Debian bases do not refuse",
            asked=asked,
            has=has,
        )
    else:
        text = f"driver {driver}{on(host)} is new enough: it needs {need.least}, {need.why}"
        yield Reason(topic=Topic.DRIVER, weight=Weight.FOR, text=text, asked=asked, has=has)
