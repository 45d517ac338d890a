"""Properties of machines, environments and locks, from facts and locks."""

from __future__ import annotations

from collections.abc import Mapping

from envbuilder.catalog.machine import HostGpu
from envbuilder.core.memory_policy import VARIABLE, MemoryPolicy, parse
from envbuilder.core.versions import Release
from envbuilder.diagnostics.compare.comparison import System, SystemKind
from envbuilder.diagnostics.facts.facts import Facts, Seen, known
from envbuilder.diagnostics.facts.hardware import NvmlGpu
from envbuilder.diagnostics.facts.machine import host_of
from envbuilder.lock.lock import Lock


def system_of(name: str, content: Facts | Lock) -> System:
    """Return the properties in facts or a lock."""
    return system_of_facts(content, name) if isinstance(content, Facts) else system_of_lock(content, name)


def system_of_lock(lock: Lock, name: str) -> System:
    """Return the properties of a lock: software alone."""
    packages = {pin.name: pin.version for pin in lock.packages}
    return System(
        name=name,
        kind=SystemKind.LOCK,
        cuda=lock.cuda.cuda if lock.cuda else None,
        cudnn=lock.cuda.cudnn if lock.cuda else None,
        packages={**packages, lock.framework: lock.framework_version},
        environment=lock.environment,
        python=lock.python.version,
        policy=lock.memory,
        variables=dict(lock.env),
    )


def system_of_facts(facts: Facts, name: str) -> System:
    """Return the properties in facts: of a host, and the environment in which the probe ran, if it was examined."""
    host = host_of(facts, name)
    machine = known(facts.machine)
    interpreter = known(facts.interpreter)
    has_environment = isinstance(facts.distributions, Seen)
    return System(
        name=name,
        kind=SystemKind.FACTS,
        driver=host.driver,
        driver_cuda=host.cuda,
        gpus=_gpus(facts, host.gpus),
        cuda=_runtime(facts),
        cudnn=_library(facts, "libcudnn"),
        packages=dict(facts.distributions.value) if isinstance(facts.distributions, Seen) else {},
        python=interpreter.version if interpreter and has_environment else None,
        policy=_policy(facts),
        variables=_variables(facts),
        has_all_variables=isinstance(facts.host, Seen),
        processes=_processes(facts),
        memory=machine.memory if machine else None,
        limit=machine.memory_limit if machine else None,
        shm=machine.shm if machine else None,
        cpu=machine.cpu if machine else "",
        features=_features(facts),
        kernel=machine.kernel if machine else "",
        glibc=host.glibc,
        host=host,
    )


def _gpus(facts: Facts, seen: tuple[HostGpu, ...] | None) -> tuple[NvmlGpu, ...] | None:
    """Return the GPUs from NVML; from the driver's library if only that was asked."""
    if isinstance(facts.nvml, Seen) and facts.nvml.value.init_code == 0:
        return facts.nvml.value.gpus
    return (
        None
        if seen is None
        else tuple(
            NvmlGpu(index=index, name=gpu.name or None, capability=gpu.capability, errors=())
            for index, gpu in enumerate(seen)
        )
    )


def _runtime(facts: Facts) -> Release | None:
    if isinstance(facts.compute, Seen) and facts.compute.value.runtime:
        return facts.compute.value.runtime
    return _library(facts, "libcudart")


def _library(facts: Facts, start: str) -> Release | None:
    libraries = known(facts.libraries) or ()
    for library in libraries:
        if library.soname.startswith(f"{start}.so") and isinstance(library.load, Seen) and library.load.value.version:
            return library.load.value.version
    return None


def _policy(facts: Facts) -> MemoryPolicy | None:
    if not isinstance(facts.memory, Seen):
        return None
    try:
        return parse(facts.memory.value.variable or "all")
    except ValueError:
        return None


def _variables(facts: Facts) -> Mapping[str, str] | None:
    """Return the environment variables in the facts: the only place that reads them; None if they were not examined."""
    known: dict[str, str] = {}
    if isinstance(facts.memory, Seen):
        memory = facts.memory.value
        known |= {
            VARIABLE: memory.variable,
            "TF_FORCE_GPU_ALLOW_GROWTH": memory.force_growth,
            "TF_GPU_ALLOCATOR": memory.allocator,
        }
    if isinstance(facts.nvml, Seen) and facts.nvml.value.visible is not None:
        known["CUDA_VISIBLE_DEVICES"] = facts.nvml.value.visible or "(empty)"
    if isinstance(facts.host, Seen):
        known |= dict(facts.host.value.variables)
    looked = isinstance(facts.memory, Seen) or isinstance(facts.host, Seen) or known
    return {name: value for name, value in known.items() if value} if looked else None


def _processes(facts: Facts) -> Mapping[int, str]:
    if not isinstance(facts.host, Seen):
        return {}
    return {each.pid: each.name for each in facts.host.value.processes if each.name}


def _features(facts: Facts) -> Mapping[str, bool]:
    if not isinstance(facts.machine, Seen):
        return {}
    machine = facts.machine.value
    seen = {"avx": machine.avx, "avx2": machine.avx2, "fma": machine.fma, "avx512f": machine.avx512f}
    return {name: value for name, value in seen.items() if value is not None}
