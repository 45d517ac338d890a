"""Facts of a machine, a line for each part."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

from envbuilder.catalog.machine import Host, HostGpu
from envbuilder.core.units import size
from envbuilder.diagnostics.facts.hardware import NvmlGpu
from envbuilder.diagnostics.facts.machine import host_of
from envbuilder.diagnostics.host.environment import EngineAnswers, HostEnvironment, SourceSeen
from envbuilder.diagnostics.host.environment_findings import called
from envbuilder.diagnostics.host.machine import SHM
from envbuilder.diagnostics.host.machine_view import MachineView


def seen_lines(view: MachineView) -> Iterator[tuple[str, str]]:
    """Yield label and text of each line; a label may occur twice."""
    host = host_of(view.facts)
    yield "system", ", ".join(_system(view, host))
    if view.machine:
        yield "processor", ", ".join(_processor(view))
        yield "memory", ", ".join(_memory(view))
    if view.host and view.host.disks:
        disks = {(disk.total, disk.free): disk for disk in reversed(view.host.disks)}
        yield "disk", ", ".join(f"{size(disk.free)} free at {disk.path}" for disk in reversed(disks.values()))
    yield from gpu_lines(view)
    if view.host_environment:
        yield from _around(view.host_environment)


def gpu_lines(view: MachineView) -> Iterator[tuple[str, str]]:
    """Yield label and text of the driver and of the GPUs; equal ones that follow each other once."""
    host = host_of(view.facts)
    yield "driver", _driver(host)
    for text, group in groupby(_gpus(view, host), key=itemgetter(1)):
        numbers = [number for number, _ in group]
        span = f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else numbers[0]
        yield f"GPU {span}", f"{len(numbers)} x {text}" if len(numbers) > 1 else text


def _system(view: MachineView, host: Host) -> Iterator[str]:
    if view.machine:
        yield f"Linux {view.machine.kernel}"
    if host.glibc:
        yield f"glibc {host.glibc}"
    if host.machine:
        yield host.machine
    if view.container:
        yield f"in a container ({view.container})"
    if view.host and view.host.wsl.number:
        yield f"WSL {view.host.wsl.number}"
    elif view.host and view.host.virtual:
        yield f"virtual machine{f' ({view.host.vendor})' if view.host.vendor else ''}"


def _processor(view: MachineView) -> Iterator[str]:
    machine = view.machine
    if machine is None:
        return
    yield machine.cpu or "model not known"
    for name, there in (("AVX", machine.avx), ("AVX2", machine.avx2), ("FMA", machine.fma)):
        if there is not None:
            yield name if there else f"no {name}"


def _memory(view: MachineView) -> Iterator[str]:
    machine = view.machine
    if machine is None:
        return
    free = view.host.memory_available if view.host else None
    if machine.memory is not None:
        yield size(machine.memory) + (f" ({size(free)} free)" if free is not None else "")
    if machine.memory_limit is not None:
        yield f"limit {size(machine.memory_limit)}"
    if machine.shm is not None:
        yield f"{SHM} {size(machine.shm)}"


def _driver(host: Host) -> str:
    if host.driver is None and host.cuda is None:
        return "none"
    release = str(host.driver) if host.driver else "release not known"
    return f"{release}, for CUDA up to {host.cuda}" if host.cuda else release


def _gpus(view: MachineView, host: Host) -> Iterator[tuple[int, str]]:
    for gpu in view.gpus:
        yield gpu.index, ", ".join(_managed(gpu))
    if not view.gpus:
        for index, other in enumerate(host.gpus or ()):
            yield index, ", ".join(_plain(other))


def _managed(gpu: NvmlGpu) -> Iterator[str]:
    yield gpu.name or "does not answer"
    if gpu.capability:
        yield f"compute capability {gpu.capability}"
    if gpu.memory:
        yield f"{size(gpu.memory.total)} ({size(gpu.memory.free)} free)"
    for name, switch in (("MIG", gpu.mig), ("ECC", gpu.ecc), ("persistence", gpu.persistence)):
        if switch is not None:
            yield f"{name} {'on' if switch else 'off'}"
    if gpu.compute_mode and gpu.compute_mode != "default":
        yield f"compute mode {gpu.compute_mode}"


def _plain(gpu: HostGpu) -> Iterator[str]:
    yield gpu.name or "name not known"
    if gpu.capability:
        yield f"compute capability {gpu.capability}"
    if gpu.memory:
        yield size(gpu.memory)


def _around(around: HostEnvironment) -> Iterator[tuple[str, str]]:
    engine = around.engine
    if isinstance(engine, EngineAnswers):
        parts = [f"Docker {engine.version}", engine.storage, "BuildKit" if engine.buildkit else "no BuildKit"]
        parts.append("hands out NVIDIA GPUs" if engine.gpus else "no NVIDIA runtime or CDI")
        parts += ["rootless"] if engine.rootless else []
        parts += [f"context {engine.context}"] if engine.context else []
        parts += [f"{size(engine.root_free)} free"] if engine.root_free is not None else []
        yield "engine", ", ".join(part for part in parts if part)
    else:
        yield "engine", "none"
    if around.sandbox:
        yield "without one", f"{around.sandbox} runs images"
    for source in around.sources:
        yield "source", f"{called(source)}: {_answer(source)}"
    for bundle in around.ca_bundles:
        yield "certificates", f"{bundle.variable}={bundle.path}"
    for name, value in around.proxies:
        yield "proxy", f"{name}={value}"


def _answer(source: SourceSeen) -> str:
    if source.silence is not None:
        return "no answer"
    return f"answers ({source.seconds:.2f} s)"
