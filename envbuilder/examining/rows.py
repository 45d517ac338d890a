"""Whether an environment of the catalog runs on a machine, and why."""

from __future__ import annotations

from collections.abc import Iterator

from envbuilder.model.coverage import GpuSupport, Reason, support
from envbuilder.model.cuda import FIRST_FAMILY, Coverage, CudaFacts
from envbuilder.model.examinations import Fit, GpuFit, RowFit
from envbuilder.model.hosts import Host, HostGpu
from envbuilder.model.rows import BaseChoice, Environment
from envbuilder.model.versions import Release

_WHEELS_FOR = "x86_64"
_ORDER = tuple(Fit)


def judge_rows(facts: CudaFacts, rows: tuple[Environment, ...], host: Host) -> tuple[RowFit, ...]:
    """Whether each of some environments runs on a machine, in their order."""
    return tuple(judge_row(facts, row, host) for row in rows)


def judge_row(facts: CudaFacts, row: Environment, host: Host) -> RowFit:
    """Whether an environment runs on a machine: by the base that does best, the first of those that do alike.

    Args:
        facts: Drivers and GPUs.
        row: The environment.
        host: The machine; what is unknown of it makes the answer `unproven`, never `runs`.
    """
    against = tuple(_against_processor(row, host))
    if against:
        return _fit(row, row.bases[0], Fit.NO, against, (), host)
    if row.cuda is None:
        return _fit(row, row.bases[0], Fit.CPU_ONLY, ("a CPU environment",), (), host)
    if not host.gpus:
        return _without_gpu(row, host)
    answers = [_on_gpus(facts, row, choice, host, host.gpus) for choice in row.bases]
    return min(answers, key=lambda answer: _ORDER.index(answer.fit))


def _fit(  # noqa: PLR0913  one answer
    row: Environment, choice: BaseChoice, fit: Fit, reasons: tuple[str, ...], gpus: tuple[GpuFit, ...], host: Host
) -> RowFit:
    return RowFit(
        environment=row.id,
        base=choice.system.id,
        fit=fit,
        reasons=reasons,
        gpus=gpus,
        bare=_bare(row, host),
    )


def _against_processor(row: Environment, host: Host) -> Iterator[str]:
    if host.machine is not None and host.machine not in {_WHEELS_FOR, "amd64"}:
        yield f"the wheels of the catalog are for {_WHEELS_FOR}, this machine is {host.machine}"
    elif row.framework.needs_avx and host.avx is False:
        yield "its code uses AVX without asking, and this processor has none: the import ends with SIGILL"


def _bare(row: Environment, host: Host) -> str:
    """Why the wheels do not run on the host itself; an image brings its own C library."""
    if host.glibc is None or host.glibc >= row.framework.glibc:
        return ""
    return f"needs glibc {row.framework.glibc}, this host has {host.glibc}"


def _without_gpu(row: Environment, host: Host) -> RowFit:
    need = row.cuda
    if host.gpus is None:
        return _fit(row, row.bases[0], Fit.UNPROVEN, ("whether there is a GPU could not be seen",), (), host)
    if need is not None and need.linkage == "needed" and host.driver is None:
        return _fit(row, row.bases[0], Fit.NO, ("its import needs libcuda.so.1 of a driver",), (), host)
    return _fit(row, row.bases[0], Fit.CPU_ONLY, ("no usable GPU here",), (), host)


def _on_gpus(facts: CudaFacts, row: Environment, choice: BaseChoice, host: Host, gpus: tuple[HostGpu, ...]) -> RowFit:
    """The best of the GPUs decides: CUDA_VISIBLE_DEVICES can hide the others."""
    known = {each.architecture.capability: each for each in support(facts, row, choice)}
    floor = facts.driver_floor(choice.cuda or row.cuda.compiled) if row.cuda else None
    kinds = {(gpu.name, gpu.capability): gpu for gpu in gpus}
    fits = tuple(_on_gpu(gpu, known, floor, choice, host) for gpu in kinds.values())
    best = min((each.fit for each in fits), key=_ORDER.index)
    return _fit(row, choice, best, (), fits, host)


def _on_gpu(
    gpu: HostGpu, known: dict[Release, GpuSupport], floor: Release | None, choice: BaseChoice, host: Host
) -> GpuFit:
    name = gpu.name or "a GPU without a name"
    found = known.get(gpu.capability) if gpu.capability is not None else None
    if found is None:
        what = f"compute capability {gpu.capability}" if gpu.capability else "its compute capability"
        reason = f"not proven: {what} is not known" + (" to the catalog" if gpu.capability else "")
        return GpuFit(name=name, capability=gpu.capability, fit=Fit.UNPROVEN, reasons=(reason,))
    if found.coverage is Coverage.NONE:
        return GpuFit(name=name, capability=gpu.capability, fit=Fit.NO, reasons=_texts(found.why))
    need = found.driver or floor
    lack = _lack_of_driver(need, choice, host)
    if lack and lack[0] is Fit.NO:
        why = ", to compile its PTX" if need is not None and need == found.ptx_driver and need != floor else ""
        return GpuFit(name=name, capability=gpu.capability, fit=Fit.NO, reasons=(lack[1] + why,), driver=need)
    doubts = (*_texts(found.doubts), *_unknown_compiler(found), *((lack[1],) if lack else ()))
    if doubts:
        return GpuFit(name=name, capability=gpu.capability, fit=Fit.UNPROVEN, reasons=doubts)
    fit = Fit.RUNS if found.coverage is Coverage.MACHINE_CODE else Fit.JIT
    return GpuFit(name=name, capability=gpu.capability, fit=fit, reasons=_texts(found.why))


def _texts(reasons: tuple[Reason, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(reason.text for reason in reasons))


def _unknown_compiler(found: GpuSupport) -> tuple[str, ...]:
    if found.coverage is Coverage.JIT and found.ptx_driver is None:
        return ("not proven: which driver compiles its PTX is not known",)
    return ()


def _lack_of_driver(need: Release | None, choice: BaseChoice, host: Host) -> tuple[Fit, str] | None:
    """What the driver lacks: not new enough, or not known; None when it does."""
    if need is None:
        return None
    if host.driver is not None:
        return (Fit.NO, f"needs driver {need} or newer, this is {host.driver}") if host.driver < need else None
    if host.cuda is None or choice.cuda is None:
        return Fit.UNPROVEN, "not proven: the driver's release is not known"
    if host.cuda.head(2) >= choice.cuda.head(2):
        return None
    if host.cuda.major == choice.cuda.major >= FIRST_FAMILY:
        return Fit.UNPROVEN, f"not proven: the driver supports CUDA {host.cuda}, and its release is not known"
    return Fit.NO, f"needs driver {need} or newer, this one supports CUDA {host.cuda} at most"
