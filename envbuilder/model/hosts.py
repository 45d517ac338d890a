"""A machine as far as it matters for which environments run on it."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.model.facts import Facts, Gpu
from envbuilder.model.hardware_facts import NvmlGpu
from envbuilder.model.seen import Seen
from envbuilder.model.versions import Release


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
    return of_file or of_nvml


def _cuda(facts: Facts) -> Release | None:
    if isinstance(facts.driver, Seen) and isinstance(facts.driver.value.interface, Seen):
        return facts.driver.value.interface.value.cuda
    return None


def _gpus(facts: Facts) -> tuple[HostGpu, ...] | None:
    """Those that NVML shows; else those that the driver's own library shows; None when neither could be asked."""
    if isinstance(facts.nvml, Seen) and facts.nvml.value.init_code == 0:
        return tuple(_managed(gpu) for gpu in facts.nvml.value.gpus)
    if isinstance(facts.driver, Seen) and isinstance(facts.driver.value.interface, Seen):
        interface = facts.driver.value.interface.value
        if interface.init_code == 0:
            return tuple(_driven(gpu) for gpu in interface.gpus)
        if not interface.loadable and facts.driver.value.module is None:
            return ()
    return None


def _managed(gpu: NvmlGpu) -> HostGpu:
    return HostGpu(
        name=gpu.name or "",
        capability=gpu.capability,
        memory=gpu.memory.total if gpu.memory else None,
        free=gpu.memory.free if gpu.memory else None,
    )


def _driven(gpu: Gpu) -> HostGpu:
    return HostGpu(name=gpu.name, capability=gpu.capability, memory=gpu.memory)
