"""A machine as far as it matters for which environments run on it."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.model.facts import DriverInterface, Facts, Gpu
from envbuilder.model.hardware_facts import NvmlGpu
from envbuilder.model.host_facts import SmiGpu
from envbuilder.model.seen import Seen
from envbuilder.model.versions import Release

_NO_DEVICE = 100
"""CUDA_ERROR_NO_DEVICE."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostGpu:
    """One GPU.

    Attributes:
        name: Such as `NVIDIA A100-SXM4-40GB`; empty when unknown.
        capability: Compute capability; None when unknown.
        memory: Bytes; None when unknown.
        free: Bytes that nobody held when it was looked at; None when unknown.
    """

    name: str
    capability: Release | None
    memory: int | None = None
    free: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One machine; what could not be seen is None.

    Attributes:
        name: What to call it: a file of facts, or words.
        driver: Driver release.
        library: Release of the driver's library in user space; None if unknown. Newer than `driver` where NVIDIA's
            package for forward compatibility is in use.
        cuda: Newest CUDA release that the driver says it supports.
        gpus: Its GPUs; empty when there are none.
        machine: Such as `x86_64`.
        glibc: The C library of the host, which a bare environment uses; an image brings its own.
        avx: Whether the processor has AVX.
        fma: Whether the processor has FMA.
        memory: Bytes of main memory, or what the control group allows of it.
        shm: Bytes of /dev/shm.
        is_described: Whether nobody looked at it: somebody said what it has, and what was not said does not matter.
    """

    name: str
    driver: Release | None = None
    library: Release | None = None
    cuda: Release | None = None
    gpus: tuple[HostGpu, ...] | None = None
    machine: str | None = None
    glibc: Release | None = None
    avx: bool | None = None
    fma: bool | None = None
    memory: int | None = None
    shm: int | None = None
    is_described: bool = False


def host_of(facts: Facts, name: str = "") -> Host:
    """The machine that the probe looked at.

    Args:
        facts: What it saw.
        name: What to call the machine; where the facts come from when empty.
    """
    machine = facts.machine.value if isinstance(facts.machine, Seen) else None
    interpreter = facts.interpreter.value if isinstance(facts.interpreter, Seen) else None
    limits = [] if machine is None else [size for size in (machine.memory, machine.memory_limit) if size is not None]
    return Host(
        name=name or facts.origin,
        driver=_driver(facts),
        library=facts.driver.value.library if isinstance(facts.driver, Seen) else None,
        cuda=_cuda(facts),
        gpus=_gpus(facts),
        machine=interpreter.machine if interpreter else None,
        glibc=interpreter.glibc if interpreter else None,
        avx=machine.avx if machine else None,
        fma=machine.fma if machine else None,
        memory=min(limits, default=None),
        shm=machine.shm if machine else None,
    )


def _driver(facts: Facts) -> Release | None:
    """The kernel module's release where it is known, else what NVML says, else the user library's."""
    of_file = facts.driver.value.release if isinstance(facts.driver, Seen) else None
    of_nvml = facts.nvml.value.driver if isinstance(facts.nvml, Seen) else None
    of_smi = next((gpu.driver for gpu in _shown_by_smi(facts) if gpu.driver), None)
    return of_file or of_nvml or of_smi


def _shown_by_smi(facts: Facts) -> tuple[SmiGpu, ...]:
    """What nvidia-smi shows, which is asked when nothing else tells."""
    smi = facts.host.value.smi if isinstance(facts.host, Seen) else None
    return smi.gpus if smi else ()


def _cuda(facts: Facts) -> Release | None:
    interface = _interface(facts)
    return interface.cuda if interface else None


def _gpus(facts: Facts) -> tuple[HostGpu, ...] | None:
    """Those that NVML shows; else the driver's own library; else nvidia-smi; None when none of them could be asked."""
    if isinstance(facts.nvml, Seen) and facts.nvml.value.init_code == 0:
        return tuple(_managed(gpu) for gpu in facts.nvml.value.gpus)
    interface = _interface(facts)
    if interface and interface.init_code == 0:
        return tuple(_driven(gpu) for gpu in interface.gpus)
    if shown := _shown_by_smi(facts):
        return tuple(_smi(gpu) for gpu in shown)
    return () if interface and _has_none(interface, facts) else None


def _interface(facts: Facts) -> DriverInterface | None:
    driver = facts.driver.value if isinstance(facts.driver, Seen) else None
    return driver.interface.value if driver and isinstance(driver.interface, Seen) else None


def _has_none(interface: DriverInterface, facts: Facts) -> bool:
    """Whether there is no GPU: no driver at all, or one that says so and is not told to hide some."""
    if not interface.loadable or interface.stub:
        return isinstance(facts.driver, Seen) and facts.driver.value.module is None
    hidden = isinstance(facts.host, Seen) and facts.host.value.variable("CUDA_VISIBLE_DEVICES") is not None
    return interface.init_code == _NO_DEVICE and not hidden


def _managed(gpu: NvmlGpu) -> HostGpu:
    return HostGpu(
        name=gpu.name or "",
        capability=gpu.capability,
        memory=gpu.memory.total if gpu.memory else None,
        free=gpu.memory.free if gpu.memory else None,
    )


def _driven(gpu: Gpu) -> HostGpu:
    return HostGpu(name=gpu.name, capability=gpu.capability, memory=gpu.memory)


def _smi(gpu: SmiGpu) -> HostGpu:
    return HostGpu(name=gpu.name, capability=gpu.capability, memory=gpu.memory, free=gpu.free)
