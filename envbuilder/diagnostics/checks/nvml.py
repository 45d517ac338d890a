"""Checks of the results of NVML, the driver's management library."""

from __future__ import annotations

from envbuilder.catalog.expectation import Expectation
from envbuilder.core.units import size
from envbuilder.diagnostics.checks.check import not_seen, was_tried
from envbuilder.diagnostics.checks.driver import RUN_WITH_GPUS, interface_of
from envbuilder.diagnostics.checks.results import Failed, NotProven, Outcome, Passed, failure
from envbuilder.diagnostics.facts.facts import Facts, Seen, known
from envbuilder.diagnostics.facts.hardware import GpuProcess, Nvml, NvmlGpu

_LEAST_FREE = 0.5
_MISMATCH, _LOST = 18, 15
_UPDATED = "the driver was updated while its old kernel module was loaded: reboot the host, or unload the module"
_REMEDIES = {
    _MISMATCH: _UPDATED,
    _LOST: "a GPU fell off the bus: `dmesg | grep -i xid` on the host, then reset or reboot",
}


def nvml_agrees(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature for all checks
    """Check that NVML and CUDA's driver interface show the same driver and the same number of GPUs."""
    nvml = _nvml(facts)
    if not isinstance(nvml, Nvml):
        return nvml
    lost = [f"GPU {gpu.index}: {reason}" for gpu in nvml.gpus for name, reason in gpu.errors if name == "handle"]
    if lost:
        return failure(problem="; ".join(lost), remedy=_REMEDIES[_LOST])
    module = facts.driver.value.module if isinstance(facts.driver, Seen) else None
    if module and nvml.driver and module != nvml.driver:
        return failure(problem=f"NVML reports driver {nvml.driver}, the kernel module is {module}", remedy=_UPDATED)
    return _same_number(nvml, facts)


def _nvml(facts: Facts) -> Nvml | Failed | NotProven:
    fact = facts.nvml
    if not isinstance(fact, Seen):
        if not was_tried(fact):
            return not_seen("NVML", fact)
        return failure(problem=f"querying NVML failed with {fact.summary}", remedy=f"see the host; {RUN_WITH_GPUS}")
    nvml = fact.value
    if not nvml.loadable:
        return NotProven(reason=f"no NVML ({nvml.error}); NVIDIA_DRIVER_CAPABILITIES must include `utility`")
    if nvml.stub:
        return NotProven(reason="libnvidia-ml.so.1 is the linker's stub")
    if nvml.init_code in _REMEDIES:
        return failure(problem=f"nvmlInit: {nvml.init_code} {nvml.init_name}", remedy=_REMEDIES[nvml.init_code or 0])
    return nvml if nvml.init_code == 0 else NotProven(reason=f"nvmlInit: {nvml.init_code} {nvml.init_name}")


def _same_number(nvml: Nvml, facts: Facts) -> Outcome:
    driver = interface_of(facts)
    if isinstance(driver, NotProven):
        return driver
    seen, release = len(driver.gpus), f"driver {nvml.driver or 'unknown'}"
    if not nvml.gpus:
        return NotProven(reason="NVML shows no GPU")
    if any(gpu.mig for gpu in nvml.gpus):
        return _with_mig(nvml, seen, release)
    expected = _expected(nvml)
    if expected is None:
        return NotProven(reason=f"CUDA_VISIBLE_DEVICES={nvml.visible} could not be interpreted")
    chosen = "" if nvml.visible is None else f", CUDA_VISIBLE_DEVICES={nvml.visible} leaves {expected}"
    if seen != expected:
        return failure(
            problem=f"NVML shows {len(nvml.gpus)} GPUs{chosen}, CUDA sees {seen}",
            remedy="see check driver-present; CUDA leaves out GPUs that its libcuda.so.1 no longer supports: where the"
            " image contains a newer one (cuda-compat), take that off the loader path",
        )
    return (
        Passed(seen=f"{release}, {seen} of {len(nvml.gpus)} GPUs{chosen}")
        if seen
        else NotProven(reason=f"CUDA_VISIBLE_DEVICES={nvml.visible} hides every GPU")
    )


def _with_mig(nvml: Nvml, seen: int, release: str) -> Outcome:
    """Compare the counts with MIG on: CUDA shows one MIG device to a process, newer drivers more, never none."""
    instances = sum(gpu.instances or 0 for gpu in nvml.gpus)
    if seen:
        return Passed(seen=f"{release}, MIG is on: {instances} MIG devices, CUDA sees {seen}")
    return failure(
        problem=f"MIG is on, NVML shows {instances} MIG devices, CUDA sees none",
        remedy="create MIG devices on the host (`nvidia-smi mig -cgi … -C`), or pass one to this container by its UUID",
    )


def _expected(nvml: Nvml) -> int | None:
    """Return the number of GPUs that CUDA shows: valid first entries of CUDA_VISIBLE_DEVICES; None if unknown."""
    if nvml.visible is None:
        return len(nvml.gpus)
    chosen: list[str] = []
    for entry in nvml.visible.split(","):
        named = _named(entry.strip(), nvml.gpus)
        if named is None:
            break
        chosen.append(named)
    return len(chosen) if len(set(chosen)) == len(chosen) else None


def _named(entry: str, gpus: tuple[NvmlGpu, ...]) -> str | None:
    if entry.isdigit():
        return str(int(entry)) if int(entry) < len(gpus) else None
    found = [gpu for gpu in gpus if entry.startswith("GPU-") and (gpu.uuid or "").startswith(entry)]
    return str(found[0].index) if len(found) == 1 else None


def gpu_memory_free(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature for all checks
    """Check that at least half of the memory of every GPU is free."""
    memory = _memory(facts)
    if not memory:
        return NotProven(reason="neither CUDA nor NVML reports the free memory")
    shown = [f"{name}: {size(free)} of {size(total)} free" for name, free, total, _ in memory]
    taken = [
        (line, processes)
        for line, (_, free, total, processes) in zip(shown, memory, strict=True)
        if free < total * _LEAST_FREE
    ]
    if not taken:
        return Passed(seen=", ".join(shown))
    holders = {process.pid: process for _, processes in taken for process in processes}
    problem = "; ".join(line for line, _ in taken)
    return failure(problem=f"{problem}{_held(holders)}", remedy=_free_them(tuple(holders)))


def _memory(facts: Facts) -> list[tuple[str, int, int, tuple[GpuProcess, ...]]]:
    """Return name, free and all bytes, and processes of each GPU that CUDA shows; of all if nothing was computed."""
    nvml = known(facts.nvml)
    listed = nvml.gpus if nvml else ()
    if isinstance(facts.compute, Seen) and facts.compute.value.gpus:
        holders = {_without_zeros(gpu.bus): gpu.processes or () for gpu in listed if gpu.bus}
        measured = [(gpu.index, gpu.memory.value) for gpu in facts.compute.value.gpus if isinstance(gpu.memory, Seen)]
        return [
            (f"GPU {index}", each.free, each.total, holders.get(_without_zeros(each.bus), ()))
            for index, each in measured
        ]
    if nvml and nvml.visible is not None:
        # NVML counts otherwise than CUDA, and a GPU that was not chosen may be in use.
        return []
    return [
        (f"GPU {gpu.index}", gpu.memory.free, gpu.memory.total, gpu.processes or ()) for gpu in listed if gpu.memory
    ]


def _without_zeros(bus: str) -> str:
    """Return an address without its leading zeros: CUDA writes four digits of the domain, NVML eight."""
    return bus.lstrip("0").upper()


def _held(holders: dict[int, GpuProcess]) -> str:
    shown = [f"{pid} ({size(process.memory)})" if process.memory else f"{pid}" for pid, process in holders.items()]
    return f"; held by process {', '.join(shown)}" if shown else ""


def _free_them(pids: tuple[int, ...]) -> str:
    if not pids:
        return (
            "`nvidia-smi` on the host lists the processes, also those outside a container: end them, or use another GPU"
        )
    listed = " ".join(map(str, pids))
    return f"inspect them on the host (`ps -fp {listed}`) and end them, or choose another GPU with CUDA_VISIBLE_DEVICES"
