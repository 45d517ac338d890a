"""Findings about each GPU: processes that use it, MIG, compute mode, and faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envbuilder.core.units import size
from envbuilder.diagnostics.facts.hardware import NvmlGpu
from envbuilder.diagnostics.findings import Finding, Remedy, Severity, finding, note, problem, warning
from envbuilder.diagnostics.host.machine_view import MachineView

MUCH_HELD = 0.1
"""Share of a GPU's memory used by others that causes a warning.

By default TensorFlow takes nearly all free memory, so memory used by others is missing.
"""
_XID = Remedy(text="the kernel log has the error with its Xid", command="sudo dmesg | grep -iE 'nvrm|xid'")


def _names(gpus: Iterable[NvmlGpu]) -> str:
    """Return `GPU 0`, or `GPUs 0, 1, 2`."""
    numbers = [str(gpu.index) for gpu in gpus]
    return f"GPU{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"


def _indices(gpus: Iterable[NvmlGpu]) -> str:
    return ",".join(str(gpu.index) for gpu in gpus)


def gpu_held(view: MachineView) -> Iterator[Finding]:
    """Report memory used by other processes."""
    for gpu in view.gpus:
        held = gpu.memory.used if gpu.memory else 0
        total = gpu.memory.total if gpu.memory else 0
        # Before driver 510 the driver's own memory, some hundred MiB, counts as used.
        much = total > 0 and held / total >= MUCH_HELD
        if not gpu.processes and not much:
            continue
        free = f", {size(gpu.memory.free)} of {size(total)} are free" if gpu.memory else ""
        yield finding(
            "gpu-held",
            Severity.WARNING if much else Severity.NOTE,
            f"GPU {gpu.index} is held by {_holders(view, gpu)}{free}",
            "TensorFlow takes what is free, and fails with out-of-memory when that is not enough" if much else "",
            *(_to_free(view, gpu) if much else ()),
        )


def _holders(view: MachineView, gpu: NvmlGpu) -> str:
    names = {each.pid: each.name for each in view.host.processes} if view.host else {}
    if not gpu.processes:
        held = size(gpu.memory.used) if gpu.memory else "memory"
        return f"processes that are not visible from here ({held})"
    holders = [
        f"{names.get(each.pid) or 'process'} {each.pid}" + (f" ({size(each.memory)})" if each.memory else "")
        for each in gpu.processes
    ]
    return ", ".join(holders)


def _to_free(view: MachineView, gpu: NvmlGpu) -> tuple[Remedy, ...]:
    pids = " ".join(str(each.pid) for each in gpu.processes or ())
    others = [other.index for other in view.gpus if other.memory and other.memory.used / other.memory.total < MUCH_HELD]
    end = Remedy(text="end unneeded processes", command=f"kill {pids}") if pids and view.container == "" else None
    look = Remedy(text="list the processes, on the host", command="nvidia-smi") if end is None else None
    elsewhere = (
        Remedy(text="or use a free GPU", command=f"export CUDA_VISIBLE_DEVICES={others[0]}")
        if others
        else Remedy(
            text="or let TensorFlow allocate only the memory that it needs",
            command="export TF_FORCE_GPU_ALLOW_GROWTH=true",
        )
    )
    return tuple(remedy for remedy in (end, look, elsewhere) if remedy)


def mig(view: MachineView) -> Iterator[Finding]:
    """Report GPUs with MIG."""
    split = [gpu for gpu in view.gpus if gpu.mig]
    empty = [gpu for gpu in split if gpu.instances == 0]
    if empty:
        yield problem(
            "mig-without-instance",
            f"MIG is on for {_names(empty)}, and this process has no instance of it",
            "CUDA sees no GPU there",
            Remedy(text="create one", command=f"sudo nvidia-smi mig -i {_indices(empty)} -cgi 0 -C"),
            Remedy(text="or switch MIG off", command=f"sudo nvidia-smi -i {_indices(empty)} -mig 0"),
        )
    for gpu in split:
        if gpu.instances != 0:
            count = "an unknown number of" if gpu.instances is None else str(gpu.instances)
            yield note(
                "mig",
                f"GPU {gpu.index} is split by MIG into {count} instance{'' if gpu.instances == 1 else 's'}",
                "a CUDA program sees one of them, with its share of the memory; no sum over several",
                Remedy(text="select it by its UUID", command="nvidia-smi -L"),
            )


def ecc(view: MachineView) -> Iterator[Finding]:
    """Report GPUs with error correction turned off."""
    off = [gpu for gpu in view.gpus if gpu.ecc is False]
    if off:
        yield note(
            "ecc-off",
            f"ECC is off for {_names(off)}",
            "bit errors are not detected, and the GPU has a little more memory than with ECC",
            Remedy(text="switch it on, then reboot", command=f"sudo nvidia-smi -i {_indices(off)} -e 1"),
        )


def persistence(view: MachineView) -> Iterator[Finding]:
    """Report GPUs whose driver is unloaded with the last program."""
    off = [gpu for gpu in view.gpus if gpu.persistence is False]
    if off and not (view.host and view.host.wsl.number):
        yield note(
            "persistence-off",
            f"persistence mode is off for {_names(off)}",
            "the first program after a pause waits until the driver has initialized each GPU",
            Remedy(text="keep the driver loaded", command="sudo nvidia-smi -pm 1"),
        )


def compute_mode(view: MachineView) -> Iterator[Finding]:
    """Report GPUs that accept no program, or one at a time."""
    closed = [gpu for gpu in view.gpus if gpu.compute_mode == "prohibited"]
    alone = [gpu for gpu in view.gpus if (gpu.compute_mode or "").startswith("exclusive")]
    if closed:
        yield problem(
            "compute-prohibited",
            f"compute mode prohibits CUDA on {_names(closed)}",
            "CUDA reports no device, or that it is unavailable",
            _default_mode(closed),
        )
    taken = [gpu for gpu in alone if gpu.processes]
    if alone:
        yield finding(
            "compute-exclusive",
            Severity.PROBLEM if taken else Severity.WARNING,
            f"compute mode gives {_names(alone)} to one process at a time"
            + (f", and {_names(taken)} {'have' if len(taken) > 1 else 'has'} one" if taken else ""),
            "a second process fails with CUDA_ERROR_DEVICE_UNAVAILABLE (all CUDA-capable devices are busy)",
            _default_mode(alone),
        )


def _default_mode(gpus: list[NvmlGpu]) -> Remedy:
    return Remedy(text="share it", command=f"sudo nvidia-smi -i {_indices(gpus)} -c DEFAULT")


def gpu_faulty(view: MachineView) -> Iterator[Finding]:
    """Report GPUs that do not answer, or have uncorrected memory errors."""
    for gpu in view.gpus:
        trouble = [reason for name, reason in gpu.errors if name == "handle"]
        if gpu.uncorrected:
            trouble.append(f"{gpu.uncorrected} uncorrected errors of its memory since the driver was loaded")
        if gpu.rows_failed:
            trouble.append("replacing defective memory rows has failed")
        if trouble:
            yield problem(
                "gpu-faulty",
                f"GPU {gpu.index}: {'; '.join(trouble)}",
                "programs on it fail or return incorrect results",
                _XID,
                Remedy(text="reset it while no program uses it", command=f"sudo nvidia-smi -i {gpu.index} -r"),
                Remedy(text="exclude it", command=f"export CUDA_VISIBLE_DEVICES={_others(view, gpu)}"),
            )
        elif gpu.rows_pending:
            yield warning(
                "gpu-reset-pending",
                f"GPU {gpu.index} needs a reset to replace defective memory rows",
                "until then the defective rows are in use",
                Remedy(text="reset it while no program uses it", command=f"sudo nvidia-smi -i {gpu.index} -r"),
            )


def _others(view: MachineView, gpu: NvmlGpu) -> str:
    return ",".join(str(each.index) for each in view.gpus if each.index != gpu.index) or "-1"


def gpus_differ(view: MachineView) -> Iterator[Finding]:
    """Report that CUDA orders different GPUs by speed, and nvidia-smi by bus."""
    kinds = {(gpu.name, gpu.capability) for gpu in view.gpus if gpu.name}
    if len(kinds) > 1 and view.variable("CUDA_VISIBLE_DEVICES") is None:
        yield note(
            "gpus-differ",
            f"{len(view.gpus)} GPUs of {len(kinds)} kinds",
            "CUDA numbers the fastest GPU first, nvidia-smi by the bus: number 0 may be another GPU",
            Remedy(text="use the same order", command="export CUDA_DEVICE_ORDER=PCI_BUS_ID"),
        )
