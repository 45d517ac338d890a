"""Reasons from the machines that are to run it: processor, GPUs, driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from envbuilder.advising.candidates import Candidate
from envbuilder.advising.drivers import DriverNeed, is_older, need_of
from envbuilder.advising.gpu_names import capability_of
from envbuilder.model.advice import Change, Reason, Topic, Wanted, Weight
from envbuilder.model.coverage import GpuSupport, support_of
from envbuilder.model.cuda import Coverage, CudaFacts
from envbuilder.model.hosts import Host, HostGpu
from envbuilder.model.rows import BaseKind
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
    yield from _driver(facts, host, candidate, tuple(support for _, support in supports))


def _on(host: Host) -> str:
    return f" on {host.name}" if host.name else ""


def _processor(host: Host, candidate: Candidate) -> Iterator[Reason]:
    if host.machine is not None and host.machine not in _X86:
        yield Reason(
            topic=Topic.PROCESSOR,
            weight=Weight.AGAINST,
            text=f"the wheels of the catalog are for x86_64, and the machine{_on(host)} is {host.machine}",
            asked=host.machine,
            has="x86_64",
            change=Change(topic=Topic.PROCESSOR, text=f"an x86_64 machine instead of {host.machine}"),
        )
    if host.avx is False and candidate.row.framework.needs_avx:
        yield Reason(
            topic=Topic.PROCESSOR,
            weight=Weight.AGAINST,
            text=f"its code uses AVX, which the processor{_on(host)} does not have: it would die with SIGILL",
            asked="no AVX",
            has="AVX",
            sources=candidate.row.framework.sources,
            change=Change(topic=Topic.PROCESSOR, text="a processor with AVX"),
        )


def _without_gpu(wanted: Wanted, host: Host) -> Iterator[Reason]:
    if wanted.cpu or host.gpus == ():
        yield Reason(topic=Topic.KIND, weight=Weight.FOR, text=f"it needs neither GPU nor driver{_on(host)}")
    elif host.gpus:
        yield Reason(
            topic=Topic.KIND,
            weight=Weight.AGAINST,
            text=f"it uses no GPU, and there are some{_on(host)}",
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
            text=f"it cannot even be imported without a driver, and there is no GPU{_on(host)}",
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
        text=f"there is no GPU{_on(host)}: it would compute on the processor",
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


def gpu_label(gpu: HostGpu, capability: Release) -> str:
    """A GPU in words, such as `Tesla K80 (3.7)`."""
    return f"{gpu.name} ({capability})" if gpu.name else f"a GPU of {capability}"


def _gpu(host: Host, gpu: HostGpu, support: GpuSupport) -> Iterator[Reason]:
    capability = support.architecture.capability
    label = f"{gpu_label(gpu, capability)}{_on(host)}"
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
        text = f"the GPUs{_on(host)} are not known"
        yield Reason(topic=Topic.GPU, weight=Weight.COST, text=text, price=0, is_doubt=True)
    for gpu in host.gpus or ():
        if capability_of(facts, gpu) is None:
            text = f"what kind of GPU {gpu.name or 'a GPU'}{_on(host)} is, is not known"
            yield Reason(topic=Topic.GPU, weight=Weight.COST, text=text, price=0, is_doubt=True)


def _driver(facts: CudaFacts, host: Host, candidate: Candidate, supports: tuple[GpuSupport, ...]) -> Iterator[Reason]:
    cuda = candidate.choice.cuda
    if cuda is None:
        return
    usable = tuple(support for support in supports if support.coverage is not Coverage.NONE)
    need = need_of(facts, cuda, usable)
    yield from _beyond(host, need, usable)
    if not need.known:
        text = f"not proven: which driver{_on(host)} compiles the PTX is not known"
        yield Reason(topic=Topic.DRIVER, weight=Weight.COST, text=text, price=0, is_doubt=True)
    if host.driver is None:
        yield from _without_release(host, need, cuda)
        return
    yield from _too_new(host, host.driver, usable)
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
                f" {support.architecture.generation} ({capability}){_on(host)}",
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
                text=f"driver {driver}{_on(host)} no longer knows {support.architecture.generation}"
                f" ({support.architecture.capability}); branch {last} is the last that does",
                asked=str(driver),
                has=str(last),
                change=Change(topic=Topic.DRIVER, text=f"driver{_on(host)} back to branch {last}"),
            )


def _without_release(host: Host, need: DriverNeed, cuda: Release) -> Iterator[Reason]:
    if host.cuda is not None and host.cuda.head(2) >= cuda.head(2):
        yield Reason(
            topic=Topic.DRIVER,
            weight=Weight.FOR,
            text=f"the driver{_on(host)} supports CUDA {host.cuda}",
            has=str(cuda),
        )
    elif not host.is_described:
        text = f"the driver{_on(host)} is not known; it must be {need.least} or later ({need.why})"
        yield Reason(topic=Topic.DRIVER, weight=Weight.COST, text=text, has=str(need.least), price=0, is_doubt=True)
    else:
        text = f"needs driver {need.least} or later: {need.why}"
        yield Reason(topic=Topic.DRIVER, weight=Weight.FOR, text=text, has=str(need.least))


def _compared(host: Host, driver: Release, need: DriverNeed, candidate: Candidate) -> Iterator[Reason]:
    older = is_older(driver, need.least)
    asked, has = str(driver), str(need.least)
    if older:
        yield Reason(
            topic=Topic.DRIVER,
            weight=Weight.AGAINST,
            text=f"driver {driver}{_on(host)} is too old: it needs {need.least}, {need.why}",
            asked=asked,
            has=has,
            change=Change(topic=Topic.DRIVER, text=f"driver{_on(host)} to at least {need.least}"),
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
            text=f"driver {driver}{_on(host)} is older than the {need.own} that came with CUDA"
            f" {candidate.choice.cuda}: it runs by minor-version compatibility, but NVIDIA's image may refuse to start"
            " (NVIDIA_DISABLE_REQUIRE=1 switches that off); Debian bases do not refuse",
            asked=asked,
            has=has,
        )
    else:
        text = f"driver {driver}{_on(host)} is new enough: it needs {need.least}, {need.why}"
        yield Reason(topic=Topic.DRIVER, weight=Weight.FOR, text=text, asked=asked, has=has)
