"""Reasons from the machines that are to run it: processor, GPUs, driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from envbuilder.advising.candidates import Candidate
from envbuilder.advising.driver_reasons import driver_reasons
from envbuilder.advising.drivers import DriverNeed, need_of
from envbuilder.advising.gpu_names import capability_of
from envbuilder.advising.words import gpu_label, on
from envbuilder.model.advice import Change, Reason, Topic, Wanted, Weight
from envbuilder.model.coverage import GpuSupport, support_of
from envbuilder.model.cuda import Coverage, CudaFacts
from envbuilder.model.hosts import Host, HostGpu
from envbuilder.model.versions import Release

LIBCUDA_NEEDED = "libcuda-needed"
_X86 = {"x86_64", "amd64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareView:
    """What a candidate means for all machines.

    Attributes:
        reasons: One for each thing that was compared.
        supports: What each kind of GPU gets; empty for a CPU row.
        need: What it asks of the driver; None for a CPU row.
    """

    reasons: tuple[Reason, ...]
    supports: tuple[GpuSupport, ...]
    need: DriverNeed | None

    @property
    def coverage(self) -> Coverage | None:
        """The worst that a GPU gets; None without GPUs."""
        order = (Coverage.NONE, Coverage.JIT, Coverage.MACHINE_CODE)
        return min((support.coverage for support in self.supports), key=order.index, default=None)


def view(facts: CudaFacts, wanted: Wanted, candidate: Candidate) -> HardwareView:
    """What the machines say of a candidate."""
    reasons: list[Reason] = []
    supports: dict[Release, GpuSupport] = {}
    if not wanted.hosts:
        reasons += _kind_alone(wanted, candidate)
    for machine in wanted.hosts:
        # One machine alone need not be named in every sentence.
        host = replace(machine, name="") if len(wanted.hosts) == 1 else machine
        mine = _supports(facts, host, candidate)
        supports |= {support.architecture.capability: support for _, support in mine}
        reasons += _host(facts, wanted, host, candidate, mine)
    cuda = candidate.choice.cuda
    usable = tuple(support for support in supports.values() if support.coverage is not Coverage.NONE)
    need = need_of(facts, cuda, usable) if candidate.row.cuda and cuda else None
    return HardwareView(reasons=tuple(dict.fromkeys(reasons)), supports=tuple(supports.values()), need=need)


def _kind_alone(wanted: Wanted, candidate: Candidate) -> Iterator[Reason]:
    if candidate.row.cuda is None and not wanted.cpu:
        yield Reason(topic=Topic.KIND, weight=Weight.COST, text="it uses no GPU", price=9)


def _host(
    facts: CudaFacts,
    wanted: Wanted,
    host: Host,
    candidate: Candidate,
    supports: list[tuple[HostGpu, GpuSupport]],
) -> Iterator[Reason]:
    yield from _processor(host, candidate)
    if candidate.row.cuda is None:
        yield from _without_gpu(wanted, host)
        return
    if host.gpus == ():
        yield _no_gpu_there(host, candidate)
        return
    for gpu, support in supports:
        yield from _gpu(host, gpu, support)
        yield from _traps(candidate, support)
    yield from _unknown_gpus(facts, host)
    yield from driver_reasons(facts, host, candidate, tuple(support for _, support in supports))


def _processor(host: Host, candidate: Candidate) -> Iterator[Reason]:
    if host.machine is not None and host.machine not in _X86:
        yield Reason(
            topic=Topic.PROCESSOR,
            weight=Weight.AGAINST,
            text=f"the wheels of the catalog are for x86_64, and the machine{on(host)} is {host.machine}",
            asked=host.machine,
            has="x86_64",
            change=Change(topic=Topic.PROCESSOR, text=f"an x86_64 machine instead of {host.machine}"),
        )
    if host.avx is False and candidate.row.framework.needs_avx:
        yield Reason(
            topic=Topic.PROCESSOR,
            weight=Weight.AGAINST,
            text=f"its code uses AVX, which the processor{on(host)} does not have: it would die with SIGILL",
            asked="no AVX",
            has="AVX",
            sources=candidate.row.framework.sources,
            change=Change(topic=Topic.PROCESSOR, text="a processor with AVX"),
        )


def _without_gpu(wanted: Wanted, host: Host) -> Iterator[Reason]:
    if wanted.cpu or host.gpus == ():
        yield Reason(topic=Topic.KIND, weight=Weight.FOR, text=f"it needs neither GPU nor driver{on(host)}")
    elif host.gpus:
        yield Reason(
            topic=Topic.KIND,
            weight=Weight.AGAINST,
            text=f"it uses no GPU, and there are some{on(host)}",
            asked="GPU",
            has="CPU",
            change=Change(topic=Topic.KIND, text="compute on the processor alone"),
        )
    else:
        yield Reason(topic=Topic.KIND, weight=Weight.COST, text="it uses no GPU", price=9)


def _no_gpu_there(host: Host, candidate: Candidate) -> Reason:
    if any(advisory.id == LIBCUDA_NEEDED for advisory in candidate.row.advisories):
        cpu = candidate.own.id.partition("-cuda")[0] + "-cpu"
        return Reason(
            topic=Topic.KIND,
            weight=Weight.AGAINST,
            text=f"it cannot even be imported without a driver, and there is no GPU{on(host)}",
            asked="no GPU",
            has="GPU",
            sources=tuple(
                source
                for advisory in candidate.row.advisories
                if advisory.id == LIBCUDA_NEEDED
                for source in advisory.sources
            ),
            change=Change(topic=Topic.KIND, text=f"{cpu} instead, which needs no driver"),
        )
    return Reason(
        topic=Topic.KIND,
        weight=Weight.COST,
        text=f"there is no GPU{on(host)}: it would compute on the processor",
        asked="no GPU",
        has="GPU",
        price=9,
    )


def _supports(facts: CudaFacts, host: Host, candidate: Candidate) -> list[tuple[HostGpu, GpuSupport]]:
    """What each kind of GPU of a host gets, one for each compute capability."""
    found: dict[Release, tuple[HostGpu, GpuSupport]] = {}
    for gpu in host.gpus or ():
        capability = capability_of(facts, gpu)
        if capability is None or capability in found:
            continue
        support = support_of(facts, candidate.row, candidate.choice, capability)
        if support is not None:
            found[capability] = (gpu, support)
    return list(found.values())


def _gpu(host: Host, gpu: HostGpu, support: GpuSupport) -> Iterator[Reason]:
    capability = support.architecture.capability
    label = f"{gpu_label(gpu, capability)}{on(host)}"
    asked, has = str(capability), support.coverage.value
    match support.coverage:
        case Coverage.NONE:
            yield Reason(
                topic=Topic.GPU,
                weight=Weight.AGAINST,
                text=f"{label} does not run: {support.told}",
                asked=asked,
                has=has,
                change=Change(topic=Topic.GPU, text=f"another GPU than {gpu_label(gpu, capability)}"),
            )
        case Coverage.JIT:
            text = f"{label}: the driver compiles {_compiled(support)} on first use, which takes minutes once"
            yield Reason(topic=Topic.GPU, weight=Weight.COST, text=text, asked=asked, has=has, price=3)
        case Coverage.MACHINE_CODE:
            text = f"{label}: machine code for all kernels"
            yield Reason(topic=Topic.GPU, weight=Weight.FOR, text=text, asked=asked, has=has)
    for doubt in support.doubts:
        text = f"{gpu_label(gpu, capability)}: {doubt.text}"
        yield Reason(topic=Topic.GPU, weight=Weight.COST, text=text, asked=asked, price=0, is_doubt=True)


def _compiled(support: GpuSupport) -> str:
    families = [reason.family for reason in support.reasons if reason.coverage is Coverage.JIT]
    everything = len(families) == len([reason for reason in support.reasons if reason.family])
    return "all kernels" if everything else f"its {' and '.join(families)} kernels"


def _traps(candidate: Candidate, support: GpuSupport) -> Iterator[Reason]:
    """Known traps of the row on this generation that nothing in the image mends."""
    generation = support.architecture.generation.partition(" (")[0]
    if support.coverage is Coverage.NONE or not generation:
        return
    for trap in candidate.row.advisories:
        said = "-jit-" in trap.id  # what the coverage says already
        if generation in trap.title and trap.remedy.startswith("none") and not said:
            # Rows without the trap are no better for that: nobody looked.
            text = f"known trap: {trap.title}: {trap.reason}"
            yield Reason(topic=Topic.GPU, weight=Weight.COST, text=text, sources=trap.sources, price=0)


def _unknown_gpus(facts: CudaFacts, host: Host) -> Iterator[Reason]:
    if host.gpus is None and not host.is_described:
        text = f"the GPUs{on(host)} are not known"
        yield Reason(topic=Topic.GPU, weight=Weight.COST, text=text, price=0, is_doubt=True)
    for gpu in host.gpus or ():
        if capability_of(facts, gpu) is None:
            text = f"what kind of GPU {gpu.name or 'a GPU'}{on(host)} is, is not known"
            yield Reason(topic=Topic.GPU, weight=Weight.COST, text=text, price=0, is_doubt=True)
