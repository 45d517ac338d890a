"""Reasons from the GPU code in TensorFlow, CUDA and cuDNN."""

from __future__ import annotations

from collections.abc import Iterator

from envbuilder.catalog.coverage import GpuSupport
from envbuilder.catalog.cuda import Coverage
from envbuilder.catalog.machine import Host, HostGpu
from envbuilder.catalog.verdicts import Aspect, Fit, Reason, Rule, Stack
from envbuilder.core.versions import Release


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
        fit, text = Fit.NO, f"{label} does not run: {support.told}"
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
        said = "-jit-" in trap.id  # Stated by the coverage already.
        if generation in trap.title and trap.remedy.startswith("none") and not said:
            yield Reason(
                aspect=Aspect.GPU,
                rule=Rule.KNOWN_TRAP,
                fit=Fit.FITS,
                text=f"known trap: {trap.title}: {trap.reason}",
                sources=trap.sources,
                is_caveat=True,
            )
