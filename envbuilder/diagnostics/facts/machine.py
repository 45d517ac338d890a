"""The machine that facts describe."""

from __future__ import annotations

from envbuilder.catalog.machine import Host, HostGpu
from envbuilder.core.observation import Seen
from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.facts import DriverInterface, Facts, Gpu, known
from envbuilder.diagnostics.facts.hardware import NvmlGpu
from envbuilder.diagnostics.facts.host import SmiGpu

_NO_DEVICE = 100
"""CUDA_ERROR_NO_DEVICE."""


def host_of(facts: Facts, name: str = "") -> Host:
    """Return the machine that the probe examined; without a name it has that of the origin of the facts."""
    machine = known(facts.machine)
    interpreter, driver = known(facts.interpreter), known(facts.driver)
    limits = [] if machine is None else [size for size in (machine.memory, machine.memory_limit) if size is not None]
    return Host(
        name=name or facts.origin,
        driver=_driver(facts),
        library=driver.library if driver else None,
        cuda=facts.interface.cuda if facts.interface else None,
        gpus=_gpus(facts),
        machine=interpreter.machine if interpreter else None,
        glibc=interpreter.glibc if interpreter else None,
        avx=machine.avx if machine else None,
        fma=machine.fma if machine else None,
        memory=min(limits, default=None),
        shm=machine.shm if machine else None,
    )


def _driver(facts: Facts) -> Release | None:
    """Return the release of the kernel module if known, else that of NVML, else that of the user library."""
    driver, nvml = known(facts.driver), known(facts.nvml)
    of_smi = next((gpu.driver for gpu in _shown_by_smi(facts) if gpu.driver), None)
    return (driver.release if driver else None) or (nvml.driver if nvml else None) or of_smi


def _shown_by_smi(facts: Facts) -> tuple[SmiGpu, ...]:
    """Return the GPUs from nvidia-smi, which is run if no other source is available."""
    host = known(facts.host)
    return (host.smi if host else None) or ()


def _gpus(facts: Facts) -> tuple[HostGpu, ...] | None:
    """Return the GPUs from NVML; else from the driver's own library; else from nvidia-smi; None if all failed."""
    if isinstance(facts.nvml, Seen) and facts.nvml.value.init_code == 0:
        return tuple(_managed(gpu) for gpu in facts.nvml.value.gpus)
    interface = facts.interface
    if interface and interface.init_code == 0:
        return tuple(_driven(gpu) for gpu in interface.gpus)
    if shown := _shown_by_smi(facts):
        return tuple(_smi(gpu) for gpu in shown)
    return () if interface and _has_none(interface, facts) else None


def _has_none(interface: DriverInterface, facts: Facts) -> bool:
    """Return True if there is no GPU: no driver at all, or one that reports none and hides none."""
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
