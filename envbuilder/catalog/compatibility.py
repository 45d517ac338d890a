"""Compatibility of an environment with a machine: the only place that decides it.

`doctor`, `advise`, `list --fits`, the warning before `build`, the checks of `validate`, and the remedies of `diagnose`
and `compare` call `judge`, or `judge_stack` for an image whose base is not in the catalog. `offers.offer` picks the
base.
"""

from __future__ import annotations

from collections.abc import Iterator

from envbuilder.catalog.coverage import support_by
from envbuilder.catalog.cuda import Coverage, CudaFacts, Linkage
from envbuilder.catalog.driver_requirements import DriverNeed, need_of
from envbuilder.catalog.environments import BaseChoice, Environment
from envbuilder.catalog.machine import Host, HostGpu, capability_of, is_sold_with_arm
from envbuilder.catalog.reasons import code_reasons, driver_reasons, gpu_label, on
from envbuilder.catalog.verdicts import (
    Aspect,
    Compatibility,
    Fit,
    GpuCompatibility,
    Reason,
    Rule,
    Stack,
    best,
    stack_of,
)
from envbuilder.core.versions import Release

SERVED_PROCESSORS = frozenset({"x86_64", "amd64"})
"""Names of the processor architecture of the catalog's wheels and images."""
ARM_REMEDY = "use an x86_64 machine; for Arm servers (SBSA) NVIDIA has TensorFlow containers of its own"


def judge(facts: CudaFacts, row: Environment, choice: BaseChoice, host: Host) -> Compatibility:
    """Judge an environment on one of its bases on a machine."""
    return judge_stack(facts, stack_of(row, choice), host)


def judge_stack(facts: CudaFacts, stack: Stack, host: Host) -> Compatibility:
    """Judge the requirements of an image on a machine."""
    kinds = _gpus(facts, stack, host)
    reasons = (*_processor(facts, stack, host), *_machine(facts, stack, host), *_merged(kinds))
    return Compatibility(
        environment=stack.environment,
        base=stack.base,
        reasons=tuple(dict.fromkeys(reasons)),
        gpus=kinds,
        driver=_need(facts, stack, tuple(kind for kind in kinds if kind.fit is best(each.fit for each in kinds))),
        bare=_bare(stack, host),
    )


def _processor(facts: CudaFacts, stack: Stack, host: Host) -> Iterator[Reason]:
    machine = _processor_of(facts, host)
    if machine is not None and machine not in SERVED_PROCESSORS:
        yield Reason(
            aspect=Aspect.PROCESSOR,
            rule=Rule.CPU_ARCHITECTURE,
            fit=Fit.NO,
            text=f"the wheels and images of the catalog are for x86_64, and the machine{on(host)} is {machine}",
            asked=machine,
            has="x86_64",
            sources=facts.arm_sources,
            change=ARM_REMEDY,
        )
    elif host.avx is False and stack.wheel.needs_avx:
        yield Reason(
            aspect=Aspect.PROCESSOR,
            rule=Rule.AVX,
            fit=Fit.NO,
            text=f"it uses AVX, which the CPU{on(host)} lacks: the import is terminated by SIGILL",
            asked="no AVX",
            has="AVX",
            sources=stack.wheel.sources,
            change="use a processor with AVX",
        )


def _processor_of(facts: CudaFacts, host: Host) -> str | None:
    """Return the processor architecture of a machine: as probed, else as its GPUs imply (a GH200 is an Arm machine)."""
    if host.machine is None and any(is_sold_with_arm(facts, gpu.name) for gpu in host.gpus or ()):
        return "aarch64"
    return host.machine


def _machine(facts: CudaFacts, stack: Stack, host: Host) -> Iterator[Reason]:
    """Yield the reasons that do not depend on a single GPU."""
    if stack.need is None:
        text = f"a CPU environment: it needs neither GPU nor driver{on(host)}"
        yield Reason(aspect=Aspect.KIND, rule=Rule.CPU_BUILD, fit=Fit.CPU_ONLY, text=text, has="CPU")
    elif host.gpus is None:
        if not host.is_described:
            text = f"the GPUs{on(host)} are not known"
            yield Reason(aspect=Aspect.GPU, rule=Rule.GPU_NOT_KNOWN, fit=Fit.UNKNOWN, text=text)
        need = _need(facts, stack, ())
        if need is not None:
            yield from driver_reasons(facts, stack, host, need, None)
    elif not host.gpus:
        yield _without_gpu(stack, host)


def _without_gpu(stack: Stack, host: Host) -> Reason:
    if stack.need is not None and stack.need.linkage is Linkage.NEEDED and host.driver is None:
        cpu = stack.environment.partition("-cuda")[0] + "-cpu"
        return Reason(
            aspect=Aspect.KIND,
            rule=Rule.LIBCUDA_NEEDED,
            fit=Fit.NO,
            text=f"its import needs libcuda.so.1 of a driver, and there is neither driver nor GPU{on(host)}",
            asked="no GPU",
            has="GPU",
            sources=tuple(
                source
                for advisory in stack.advisories
                if advisory.id == Rule.LIBCUDA_NEEDED
                for source in advisory.sources
            ),
            change=f"use {cpu}, which needs no driver",
        )
    return Reason(
        aspect=Aspect.KIND,
        rule=Rule.NO_GPU,
        fit=Fit.CPU_ONLY,
        text=f"there is no GPU{on(host)}: it runs on the CPU",
        asked="no GPU",
        has="GPU",
    )


def _gpus(facts: CudaFacts, stack: Stack, host: Host) -> tuple[GpuCompatibility, ...]:
    """Judge each kind of GPU once."""
    if stack.need is None:
        return ()
    kinds: dict[tuple[str, Release | None], HostGpu] = {}
    for gpu in host.gpus or ():
        kinds.setdefault((gpu.name, capability_of(facts, gpu)), gpu)
    return tuple(_gpu(facts, stack, host, gpu, capability) for (_, capability), gpu in kinds.items())


def _gpu(facts: CudaFacts, stack: Stack, host: Host, gpu: HostGpu, capability: Release | None) -> GpuCompatibility:
    if stack.need is None or stack.cuda is None or stack.cudnn is None or capability is None:
        text = f"the compute capability of {gpu.name or 'a GPU'}{on(host)} is not known"
        unknown = Reason(aspect=Aspect.GPU, rule=Rule.GPU_NOT_KNOWN, fit=Fit.UNKNOWN, text=text)
        need = _need(facts, stack, ())
        rest = tuple(driver_reasons(facts, stack, host, need, None)) if need else ()
        return GpuCompatibility(gpu=gpu, capability=None, support=None, reasons=(unknown, *rest), driver=need)
    support = support_by(facts, stack.need, (stack.cuda, stack.cudnn), capability)
    reasons = tuple(code_reasons(stack, host, gpu, support))
    if support.coverage is Coverage.NONE:
        return GpuCompatibility(gpu=gpu, capability=capability, support=support, reasons=reasons, driver=None)
    need = need_of(facts, stack.cuda, (support,))
    driver = tuple(driver_reasons(facts, stack, host, need, (gpu, support)))
    return GpuCompatibility(gpu=gpu, capability=capability, support=support, reasons=(*reasons, *driver), driver=need)


def _merged(kinds: tuple[GpuCompatibility, ...]) -> Iterator[Reason]:
    """Yield the reasons of the best GPUs; CUDA_VISIBLE_DEVICES can hide the others, each of which is one caveat."""
    if not kinds:
        return
    fit = best(kind.fit for kind in kinds)
    for kind in kinds:
        if kind.fit is fit:
            yield from kind.reasons
            continue
        why = "; ".join(reason.text for reason in kind.reasons if reason.fit is kind.fit)
        yield Reason(
            aspect=Aspect.GPU,
            rule=Rule.OTHER_GPU,
            fit=Fit.FITS,
            text=f"{gpu_label(kind.gpu, kind.capability)} is less suitable ({kind.fit.value}): {why};"
            " CUDA_VISIBLE_DEVICES selects GPUs",
            asked=str(kind.capability or kind.gpu.name),
            is_caveat=True,
        )


def _need(facts: CudaFacts, stack: Stack, kinds: tuple[GpuCompatibility, ...]) -> DriverNeed | None:
    """Return the driver for all usable GPUs together."""
    if stack.cuda is None:
        return None
    usable = tuple(
        kind.support for kind in kinds if kind.support is not None and kind.support.coverage is not Coverage.NONE
    )
    return need_of(facts, stack.cuda, usable)


def _bare(stack: Stack, host: Host) -> str:
    """Return the reason why the wheels do not run on the host itself; an image contains its own C library."""
    if host.glibc is None or host.glibc >= stack.wheel.glibc:
        return ""
    return f"needs glibc {stack.wheel.glibc}, this host has {host.glibc}"
