"""Reasons of a verdict: the driver of a machine, and the GPU code in TensorFlow, CUDA and cuDNN."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from envbuilder.catalog.coverage import GpuSupport
from envbuilder.catalog.cuda import Coverage, CudaFacts, ForwardCompatibility
from envbuilder.catalog.driver_floors import shipped_driver
from envbuilder.catalog.driver_requirements import DriverBound, DriverNeed, DriverRule, driver_of, is_older, is_too_old
from envbuilder.catalog.machine import Host, HostGpu, is_for_data_centers
from envbuilder.catalog.verdicts import Aspect, Fit, Reason, Rule, Stack
from envbuilder.core.versions import Release

_IN_USER_SPACE = (DriverRule.LIBRARIES, DriverRule.COMPILES_PTX)


def driver_reasons(
    facts: CudaFacts, stack: Stack, host: Host, need: DriverNeed, gpu: tuple[HostGpu, GpuSupport] | None
) -> Iterator[Reason]:
    """Yield the reasons whether the driver of a machine runs the CUDA libraries of an image on a GPU.

    Args:
        facts: Driver tables.
        stack: The image.
        host: The machine.
        need: The required driver.
        gpu: The GPU and its support; None if no GPU is known, so that the libraries alone are judged.
    """
    if gpu is not None:
        yield from _last_branch(host, need, *gpu)
    if not need.known:
        text = f"not proven: which driver{on(host)} compiles the PTX is not known"
        yield Reason(aspect=Aspect.DRIVER, rule=Rule.PTX_DRIVER, fit=Fit.UNKNOWN, text=text)
    if host.driver is None and host.cuda is None:
        yield _unknown_driver(host, need)
        return
    failing = tuple(bound for bound in need.bounds if _misses(facts, host, bound) is not False)
    forward = _forward(facts, stack, host, need, gpu) if failing else None
    if forward is not None:
        yield forward
    elif failing and gpu is None and _may_be_forward(facts, stack, host):
        yield _older(host, need, "if the GPU is a data-centre one, and which GPU it is, is not known")
    elif failing:
        yield _too_old(facts, host, max(failing, key=lambda bound: bound.least))
    else:
        yield _new_enough(facts, stack, host, need, gpu)


def _misses(facts: CudaFacts, host: Host, bound: DriverBound) -> bool | None:
    """Return True if the driver is too old for a bound; None if that is unknown.

    Libraries and PTX depend on the driver's library in user space, support for a GPU on the kernel module.
    """
    if bound.rule is DriverRule.KNOWS_GPU and host.driver is not None:
        return is_older(host.driver, bound.least)
    return is_too_old(facts, host, bound.least)


def _last_branch(host: Host, need: DriverNeed, gpu: HostGpu, support: GpuSupport) -> Iterator[Reason]:
    """Yield a reason if the driver, or every driver that is new enough, no longer supports the GPU."""
    last = support.architecture.last_driver
    if last is None:
        return
    capability, generation = support.architecture.capability, support.architecture.generation
    if need.least.major > last.major:
        yield Reason(
            aspect=Aspect.GPU,
            rule=Rule.LAST_DRIVER,
            fit=Fit.NO,
            text=f"it needs driver {need.least}, and branch {last} is the last that knows"
            f" {generation} ({capability}){on(host)}",
            asked=str(capability),
            has=str(need.least),
            change=f"use another GPU than {gpu_label(gpu, capability)}",
        )
    elif host.driver is not None and host.driver.major > last.major:
        yield Reason(
            aspect=Aspect.DRIVER,
            rule=Rule.LAST_DRIVER,
            fit=Fit.NO,
            text=f"driver {host.driver}{on(host)} no longer supports {generation}"
            f" ({capability}); branch {last} is the last that does",
            asked=str(host.driver),
            has=str(last),
            change=f"go back to driver branch {last}{on(host)}",
        )


def _unknown_driver(host: Host, need: DriverNeed) -> Reason:
    has = str(need.least)
    if host.is_described:
        text = f"needs driver {need.least} or later: {need.why}"
        return Reason(aspect=Aspect.DRIVER, rule=Rule.DRIVER_RELEASE, fit=Fit.FITS, text=text, has=has)
    text = f"the driver{on(host)} is not known; it must be {need.least} or later ({need.why})"
    return Reason(aspect=Aspect.DRIVER, rule=Rule.DRIVER_NOT_KNOWN, fit=Fit.UNKNOWN, text=text, has=has)


def _too_old(facts: CudaFacts, host: Host, bound: DriverBound) -> Reason:
    rule = Rule.PTX_DRIVER if bound.rule is DriverRule.COMPILES_PTX else Rule.DRIVER_RELEASE
    driver, has = driver_of(host), str(bound.least)
    if _misses(facts, host, bound) is None:
        seen = f"driver {driver}{on(host)}" if driver else f"the driver{on(host)}, which supports CUDA {host.cuda},"
        return Reason(
            aspect=Aspect.DRIVER,
            rule=Rule.DRIVER_NOT_KNOWN,
            fit=Fit.UNKNOWN,
            text=f"it needs driver {bound.least} ({bound.why}), and whether {seen} is that new is not known;"
            " `cat /proc/driver/nvidia/version` shows its exact version",
            asked=str(driver or host.cuda),
            has=has,
        )
    seen = f"driver {driver}{on(host)}" if driver else f"the driver{on(host)} supports CUDA {host.cuda} at most, which"
    return Reason(
        aspect=Aspect.DRIVER,
        rule=rule,
        fit=Fit.NO,
        text=f"{seen} is too old: it needs {bound.least}, {bound.why}",
        asked=str(driver or host.cuda),
        has=has,
        change=f"update the driver{on(host)} to {bound.least} or later",
    )


def _new_enough(
    facts: CudaFacts, stack: Stack, host: Host, need: DriverNeed, gpu: tuple[HostGpu, GpuSupport] | None
) -> Reason:
    driver, has = driver_of(host), str(need.least)
    if driver is None:
        text = f"the driver{on(host)} supports CUDA {host.cuda}"
        return Reason(aspect=Aspect.DRIVER, rule=Rule.DRIVER_RELEASE, fit=Fit.FITS, text=text, has=str(stack.cuda))
    if host.driver is not None and driver > host.driver:
        return _stands_before(facts, host, driver, need, gpu)
    if driver < need.own and stack.has_compat_library:
        return Reason(
            aspect=Aspect.DRIVER,
            rule=Rule.IMAGE_DRIVER_GATE,
            fit=Fit.FITS,
            text=f"driver {driver}{on(host)} is older than the {need.own} that came with CUDA"
            f" {stack.cuda}: it runs by minor-version compatibility, but NVIDIA's image may refuse to start"
            " (set NVIDIA_DISABLE_REQUIRE=1 to start it); Debian bases do not refuse",
            asked=str(driver),
            has=has,
            is_caveat=True,
        )
    text = f"driver {driver}{on(host)} is new enough: it needs {need.least}, {need.why}"
    return Reason(aspect=Aspect.DRIVER, rule=Rule.DRIVER_RELEASE, fit=Fit.FITS, text=text, asked=str(driver), has=has)


def _stands_before(
    facts: CudaFacts, host: Host, library: Release, need: DriverNeed, gpu: tuple[HostGpu, GpuSupport] | None
) -> Reason:
    """Judge a driver library that is newer than the kernel module, as NVIDIA's package cuda-compat installs it."""
    text = (
        f"libcuda {library} is used with the older kernel module {host.driver}{on(host)} (forward compatibility);"
        f" it needs {need.least}, {need.why}"
    )
    name = gpu[0].name if gpu else ""
    is_offered = not name or is_for_data_centers(facts, name)
    if not is_offered:
        text += f"; {name} is not one of the data-centre GPUs that forward compatibility is for"
    return Reason(
        aspect=Aspect.DRIVER,
        rule=Rule.FORWARD_COMPATIBILITY,
        fit=Fit.FITS if is_offered else Fit.UNKNOWN,
        text=text,
        asked=str(library),
        has=str(need.least),
        is_caveat=is_offered,
    )


def _forward(
    facts: CudaFacts, stack: Stack, host: Host, need: DriverNeed, gpu: tuple[HostGpu, GpuSupport] | None
) -> Reason | None:
    """Return the reason that the driver library in NVIDIA's image replaces an older driver; None if it does not.

    Forward compatibility applies to data-centre GPUs and the branches that NVIDIA lists. It replaces the library in
    user space; the kernel module must support the GPU by itself.
    """
    if gpu is None or host.driver is None or not stack.has_compat_library or stack.cuda is None:
        return None
    rule = _rule_for(facts, stack.cuda, host.driver, *gpu)
    inside = shipped_driver(facts, rule.cuda) if rule else None
    hardware = need.least_for(DriverRule.KNOWS_GPU)
    software = need.least_for(*_IN_USER_SPACE)
    knows = hardware is None or is_older(host.driver, hardware) is False
    if rule is None or inside is None or software is None or inside < software or not knows:
        return None
    limit = f"only (cuda-compat in NVIDIA's image of CUDA {rule.cuda}, on data-centre GPUs)"
    return replace(_older(host, need, limit), fit=Fit.FITS, sources=rule.sources, is_caveat=True)


def _older(host: Host, need: DriverNeed, limit: str) -> Reason:
    """Return the reason that an older driver needs forward compatibility, not proven, with its limit in words."""
    return Reason(
        aspect=Aspect.DRIVER,
        rule=Rule.FORWARD_COMPATIBILITY,
        fit=Fit.UNKNOWN,
        text=f"driver {host.driver}{on(host)} is older than {need.least}, {need.why}: it runs by forward compatibility"
        f" {limit}",
        asked=str(host.driver),
        has=str(need.least),
    )


def _may_be_forward(facts: CudaFacts, stack: Stack, host: Host) -> bool:
    """Return True if forward compatibility would apply to a GPU of unknown model if it were a data-centre GPU."""
    return (
        stack.has_compat_library
        and host.driver is not None
        and any(
            rule.cuda.head(2) == stack.cuda.head(2) and rule.admits(host.driver)
            for rule in facts.forward
            if stack.cuda is not None
        )
    )


def _rule_for(
    facts: CudaFacts, cuda: Release, driver: Release, gpu: HostGpu, support: GpuSupport
) -> ForwardCompatibility | None:
    """Return the entry of NVIDIA's tables for a CUDA release, a driver and a GPU; None if there is none."""
    capability = support.architecture.capability
    return next(
        (
            rule
            for rule in facts.forward
            if rule.cuda.head(2) == cuda.head(2)
            and rule.admits(driver)
            and rule.is_for(capability)
            and is_for_data_centers(facts, gpu.name)
        ),
        None,
    )


def on(host: Host) -> str:
    """Return the machine as the end of a phrase; empty for a machine without a name."""
    return f" on {host.name}" if host.name else ""


def gpu_label(gpu: HostGpu, capability: Release | None) -> str:
    """Return a GPU in words, such as `Tesla K80 (3.7)`."""
    if capability is None:
        return gpu.name or "a GPU of unknown kind"
    return f"{gpu.name} ({capability})" if gpu.name else f"a GPU of {capability}"


def code_reasons(stack: Stack, host: Host, gpu: HostGpu, support: GpuSupport) -> Iterator[Reason]:
    """Yield the consequences of the image's code for a GPU: its coverage, what is not proven, and known traps."""
    capability = support.architecture.capability
    label = f"{gpu_label(gpu, capability)}{on(host)}"
    yield _coverage(label, gpu, support)
    for doubt in support.doubts:
        yield Reason(
            aspect=Aspect.GPU,
            rule=Rule.GPU_CODE_NOT_PROVEN,
            fit=Fit.UNKNOWN,
            text=f"{gpu_label(gpu, capability)}: {doubt.text}",
            asked=str(capability),
        )
    yield from _traps(stack, support)


def _coverage(label: str, gpu: HostGpu, support: GpuSupport) -> Reason:
    capability = support.architecture.capability
    fit, text, change = Fit.FITS, f"{label}: machine code for all kernels", ""
    if support.coverage is Coverage.NONE:
        fit, text = Fit.NO, f"{label} does not run: {support.description}"
        change = f"use another GPU than {gpu_label(gpu, capability)}"
    elif support.coverage is Coverage.JIT:
        fit = Fit.JIT
        text = f"{label}: the driver compiles {_compiled(support)} on first use, which takes minutes once"
    return Reason(
        aspect=Aspect.GPU,
        rule=Rule.GPU_CODE,
        fit=fit,
        text=text,
        asked=str(capability),
        has=support.coverage.value,
        change=change,
    )


def _compiled(support: GpuSupport) -> str:
    families = [reason.family for reason in support.reasons if reason.coverage is Coverage.JIT]
    everything = len(families) == len([reason for reason in support.reasons if reason.family])
    return "all kernels" if everything else f"its {' and '.join(families)} kernels"


def _traps(stack: Stack, support: GpuSupport) -> Iterator[Reason]:
    """Yield known traps of the environment on this generation of GPUs that nothing in the image avoids."""
    generation = support.architecture.generation.partition(" (")[0]
    if support.coverage is Coverage.NONE or not generation:
        return
    for trap in stack.advisories:
        is_stated = "-jit-" in trap.id  # Stated by the coverage already.
        if generation in trap.title and trap.remedy.startswith("none") and not is_stated:
            yield Reason(
                aspect=Aspect.GPU,
                rule=Rule.KNOWN_TRAP,
                fit=Fit.FITS,
                text=f"known trap: {trap.title}: {trap.reason}",
                sources=trap.sources,
                is_caveat=True,
            )
