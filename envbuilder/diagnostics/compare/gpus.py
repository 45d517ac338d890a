"""GPUs side by side: number, models, memory and its users, and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from envbuilder.catalog.compatibility import judge_stack
from envbuilder.catalog.coverage import support_of
from envbuilder.catalog.cuda import Coverage
from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.verdicts import Aspect, Compatibility, stack_of
from envbuilder.core.names import version_of
from envbuilder.core.units import size
from envbuilder.core.versions import Release
from envbuilder.diagnostics.compare.comparison import ComparedProperty, Effect, Perspective, System, nearly
from envbuilder.diagnostics.facts.hardware import GpuProcess, NvmlGpu


def _count(system: System) -> int | None:
    return None if system.gpus is None else len(system.gpus)


def _counts(view: Perspective) -> Iterator[Effect]:
    few, many = len(view.system.gpus or ()), len(view.other.gpus or ())
    if not few:
        yield view.effect("there is no GPU: all computation runs on the CPU, many times slower")
    elif few < many:
        share = f"{many / few:.3g} times as much"
        text = f"a batch that a strategy spreads over {many} GPUs lies on {few}: each holds {share}"
        yield view.effect(text, out_of_memory=True)
    elif few > many and many:
        text = "TensorFlow takes memory on all of them, although a program without a strategy computes on the first"
        yield view.effect(text)


def _models(system: System) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(_model(gpu) for gpu in system.gpus)) if system.gpus else None


def _model(gpu: NvmlGpu) -> str:
    return f"{gpu.name or 'unknown GPU'}{f' ({gpu.capability})' if gpu.capability else ''}"


def capabilities(system: System) -> tuple[Release, ...]:
    """Return the compute capabilities of the GPUs, ascending, each once."""
    return tuple(sorted({gpu.capability for gpu in system.gpus or () if gpu.capability}))


def _row_of(catalog: Catalog, system: System) -> Environment | None:
    """Return the GPU environment of a system: by its lock, else by its TensorFlow; None if unknown."""
    if system.environment:
        return next((row for row in catalog.environments if row.id == system.environment and row.cuda), None)
    version = version_of(system.tensorflow)
    rows = (row for row in catalog.environments if row.cuda and version)
    return next((row for row in rows if version and row.framework.version.release[:2] == version.release[:2]), None)


def _kernels(view: Perspective) -> Iterator[Effect]:
    verdict = verdict_of(view.catalog, view.system)
    if verdict is not None:
        yield from _code(view, verdict)
        return
    for capability in capabilities(view.system):
        if capability not in capabilities(view.other):
            yield from _in_general(view, capability)


def verdict_of(catalog: Catalog, system: System) -> Compatibility | None:
    """Judge the TensorFlow of a system on its machine; None if one of them is not known."""
    row = _row_of(catalog, system)
    if row is None or system.host is None:
        return None
    wheel = stack_of(row, None)
    stack = replace(wheel, cuda=system.cuda or wheel.cuda, cudnn=system.cudnn or wheel.cudnn)
    return judge_stack(catalog.cuda, stack, replace(system.host, name=""))


def _code(view: Perspective, verdict: Compatibility) -> Iterator[Effect]:
    """Yield the effects of the GPU code of TensorFlow, CUDA and cuDNN on a system."""
    for kind in verdict.gpus:
        for reason in kind.reasons:
            if reason.aspect is Aspect.GPU:
                yield view.effect(f"{verdict.environment}: {reason.text}")


def _in_general(view: Perspective, capability: Release) -> Iterator[Effect]:
    """Yield the effects for environments that do worse on a GPU than on those of the other system."""
    catalog, others = view.catalog, capabilities(view.other)
    rows = [row for row in catalog.environments if row.cuda]
    for coverage, what in (
        (Coverage.JIT, f"is compiled by the driver for {capability} on first use, which takes minutes once"),
        (Coverage.NONE, f"does not run on {capability}"),
    ):
        worse = [
            row
            for row in rows
            if _coverage(catalog, row, capability) is coverage
            and all(_coverage(catalog, row, each) is Coverage.MACHINE_CODE for each in others)
        ]
        if worse:
            yield view.effect(f"TensorFlow {_releases(rows, worse)} {what}, and has machine code on the other")


def _coverage(catalog: Catalog, row: Environment, capability: Release) -> Coverage | None:
    """Return the support of a GPU by an environment on the best of its bases."""
    supports = [support_of(catalog.cuda, row, choice, capability) for choice in row.bases]
    order = (Coverage.NONE, Coverage.JIT, Coverage.MACHINE_CODE)
    return max((support.coverage for support in supports if support), key=order.index, default=None)


def _releases(rows: list[Environment], some: list[Environment]) -> str:
    """Return minor releases in words, consecutive ones together: `2.8 to 2.15, 2.21`."""
    runs: list[list[str]] = []
    before = -2
    for row in some:
        place = rows.index(row)
        name = ".".join(map(str, row.framework.version.release[:2]))
        if place == before + 1:
            runs[-1].append(name)
        else:
            runs.append([name])
        before = place
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


def _total(system: System) -> int | None:
    return min((gpu.memory.total for gpu in system.gpus or () if gpu.memory), default=None)


def _totals(view: Perspective) -> Iterator[Effect]:
    have, there = _total(view.system), _total(view.other)
    if have is not None and there is not None and have < there:
        text = f"a batch that fits into {size(there)} may not fit into {size(have)}: use a smaller one"
        yield view.effect(text, out_of_memory=True)


def _free(system: System) -> tuple[int, int] | None:
    """Return the free and the used bytes of the GPU with the least free memory."""
    held = [(gpu.memory.free, gpu.memory.used) for gpu in system.gpus or () if gpu.memory]
    return min(held, default=None)


def _frees(view: Perspective) -> Iterator[Effect]:
    have, there = _free(view.system), _free(view.other)
    if have is None or there is None or have[1] <= there[1] or nearly(have[0] + have[1], have[0]):
        return
    who = _holders(view.system)
    text = f"{size(have[1])} are held{f' by {who}' if who else ' by others'}: TensorFlow gets {size(have[0])} at most"
    yield view.effect(f"{text}; `nvidia-smi` shows the processes: end them or use another GPU", out_of_memory=True)


def _free_of(gpu: NvmlGpu) -> int:
    return gpu.memory.free if gpu.memory else 0


def _holders(system: System) -> str:
    """Return the processes with memory of the fullest GPU, the largest first."""
    fullest = min((gpu for gpu in system.gpus or () if gpu.memory), key=_free_of, default=None)
    processes = (fullest.processes or ()) if fullest else ()
    largest = sorted(processes, key=lambda process: -(process.memory or 0))[:3]
    return ", ".join(_holder(system, each) for each in largest)


def _holder(system: System, process: GpuProcess) -> str:
    name = system.processes.get(process.pid)
    held = f" ({size(process.memory)})" if process.memory else ""
    return f"{name}, pid {process.pid}{held}" if name else f"pid {process.pid}{held}"


def _combined(combine: Callable[[Iterable[bool]], bool], settings: Iterable[bool | None]) -> bool | None:
    """Return the known settings of all GPUs as one; None if none is known."""
    seen = [setting for setting in settings if setting is not None]
    return combine(seen) if seen else None


def _mig(system: System) -> bool | None:
    return _combined(any, [gpu.mig for gpu in system.gpus or ()])


def _migs(view: Perspective) -> Iterator[Effect]:
    if _mig(view.system):
        text = "a process sees one MIG device at a time, with a part of the GPU's memory and processors"
        yield view.effect(text, out_of_memory=True)


def _ecc(system: System) -> bool | None:
    return _combined(any, [gpu.ecc for gpu in system.gpus or ()])


def _eccs(view: Perspective) -> Iterator[Effect]:
    if _ecc(view.system):
        have, there = _total(view.system), _total(view.other)
        less = have is not None and there is not None and have < there and _models(view.system) == _models(view.other)
        text = "ECC takes a part of the memory of cards with GDDR memory (HBM has it built in)"
        yield view.effect(text, out_of_memory=less)


def _persistence(system: System) -> bool | None:
    return _combined(all, [gpu.persistence for gpu in system.gpus or ()])


def _starts(view: Perspective) -> Iterator[Effect]:
    if _persistence(view.system) is False:
        yield view.effect("the driver is initialized by every program, which takes seconds: `nvidia-smi -pm 1`")


def _mode(system: System) -> tuple[str, ...] | None:
    modes = tuple(sorted({gpu.compute_mode for gpu in system.gpus or () if gpu.compute_mode}))
    return modes or None


def _modes(view: Perspective) -> Iterator[Effect]:
    if any(mode.startswith("exclusive") for mode in _mode(view.system) or ()):
        yield view.effect("a second process on the same GPU is refused: `nvidia-smi -c DEFAULT`")
    if "prohibited" in (_mode(view.system) or ()):
        yield view.effect("no process may compute on that GPU: `nvidia-smi -c DEFAULT`")


def _on_off(value: bool) -> str:  # noqa: FBT001  the value that is shown
    return "on" if value else "off"


MEMORY_PROPERTIES: tuple[ComparedProperty[int] | ComparedProperty[tuple[int, int]] | ComparedProperty[bool], ...] = (
    ComparedProperty(name="GPUs", read=_count, effects=_counts),
    ComparedProperty(name="GPU memory (smallest GPU)", read=_total, show=size, effects=_totals, is_same=nearly),
    ComparedProperty(
        name="GPU memory free (fullest GPU)",
        read=_free,
        show=lambda held: f"{size(held[0])} free, {size(held[1])} in use",
        effects=_frees,
        is_same=lambda one, other: nearly(one[0], other[0]),
    ),
    ComparedProperty(name="MIG", read=_mig, show=_on_off, effects=_migs),
    ComparedProperty(name="ECC", read=_ecc, show=_on_off, effects=_eccs),
)

MODEL_PROPERTIES: tuple[ComparedProperty[tuple[str, ...]], ...] = (
    ComparedProperty(name="GPU model", read=_models, show=", ".join, effects=_kernels),
)

SETTING_PROPERTIES: tuple[ComparedProperty[tuple[str, ...]] | ComparedProperty[bool], ...] = (
    ComparedProperty(name="compute mode", read=_mode, show=", ".join, effects=_modes),
    ComparedProperty(name="persistence", read=_persistence, show=_on_off, effects=_starts),
)
