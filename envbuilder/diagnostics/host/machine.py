"""Findings about the machine: processor, memory, disk, shared memory."""

from __future__ import annotations

from collections.abc import Iterator

from envbuilder.catalog.compatibility import ARM_REMEDY, SERVED_PROCESSORS
from envbuilder.core.units import size
from envbuilder.diagnostics.facts.host import Disk
from envbuilder.diagnostics.findings import Finding, Remedy, Severity, finding, problem, warning
from envbuilder.diagnostics.host.machine_view import MachineView

LITTLE_MEMORY = 2 << 30
"""Free bytes of memory below which a warning is reported.

Source: tensorflow-cpu 2.15.1 takes 406 MiB for its import and 426 MiB after a tiny training (largest resident size,
measured 2026-11-21); four times that leaves room for CUDA and for data.
"""
LITTLE_DISK = 10 * 10**9
"""Free bytes of disk below which a warning is reported.

Source: GPU images of the catalog take 4 to 5 GB (`docker images`, 2026-11-21), and their packages once more in the
cache.
"""
SHM = "/dev/shm"  # noqa: S108  what it is called
LITTLE_SHM = 64 << 20
"""Default size of /dev/shm in a container of Docker, in bytes."""


def no_avx(view: MachineView) -> Iterator[Finding]:
    """Report a processor without AVX."""
    if view.machine and view.machine.avx is False:
        virtual = bool(view.host and view.host.virtual)
        hidden = Remedy(text="a virtual machine hides it: give it the processor of its host (`host-passthrough`)")
        yield problem(
            "no-avx",
            f"the processor{' ' + view.machine.cpu if view.machine.cpu else ''} does not report AVX",
            "the wheels of TensorFlow use it from 1.5.1 on (documented: 1.6) and fail with SIGILL at import",
            *((hidden,) if virtual else ()),
            Remedy(
                text=f"{'or ' if virtual else ''}choose an environment that does not need it: `envbuilder list --fits`"
            ),
        )


def other_processor(view: MachineView) -> Iterator[Finding]:
    """Report a processor architecture that the catalog has no wheels for."""
    found = view.interpreter.machine if view.interpreter else ""
    if found and found not in SERVED_PROCESSORS:
        yield problem(
            "other-processor",
            f"this machine is {found}",
            "the wheels and images of the catalog are for x86_64, so no environment runs here",
            Remedy(text=ARM_REMEDY),
        )


def little_memory(view: MachineView) -> Iterator[Finding]:
    """Report low free memory, of the machine or of the control group."""
    free = _free_memory(view)
    if free is not None and free < LITTLE_MEMORY:
        limit = view.machine.memory_limit if view.machine else None
        bound = f" (the limit of the control group is {size(limit)})" if limit else ""
        yield warning(
            "little-memory",
            f"{size(max(free, 0))} of memory are free{bound}",
            "TensorFlow may be killed while it starts (status 137)",
            Remedy(text="show the processes that use it", command="ps -eo pid,rss,comm --sort=-rss | head"),
        )


def _free_memory(view: MachineView) -> int | None:
    available = view.host.memory_available if view.host else None
    limit, used = (view.machine.memory_limit if view.machine else None), (view.host.group_used if view.host else None)
    sizes = [] if available is None else [available]
    if limit is not None and used is not None:
        sizes.append(limit - used)
    return min(sizes, default=None)


def little_disk(view: MachineView) -> Iterator[Finding]:
    """Report low space on the disks that are written to."""
    apart = temporary_disk(view)
    disks = {disk.path: disk for disk in view.host.disks if disk != apart} if view.host else {}
    short = [disk for disk in disks.values() if disk.free < LITTLE_DISK]
    seen = {(disk.total, disk.free): disk for disk in reversed(short)}
    if seen:
        places = ", ".join(f"{size(disk.free)} free at {disk.path}" for disk in reversed(seen.values()))
        yield warning(
            "little-disk",
            places,
            "a GPU image takes 3.7 to 4.7 GiB, and its packages need the same amount during the build",
            Remedy(text="remove unneeded files from the cache directory", command="envbuilder cache prune"),
            Remedy(text="or move the cache directory", command="export ENVBUILDER_CACHE=/path/with/room"),
        )


def temporary_disk(view: MachineView) -> Disk | None:
    """Return the disk of temporary files if it is a file system of its own; None otherwise."""
    root, *others = view.host.disks if view.host and view.host.disks else (None,)
    return next((disk for disk in others if disk and root and disk.total != root.total), None)


def little_shm(view: MachineView) -> Iterator[Finding]:
    """Report the small default of shared memory in Docker."""
    shm = view.machine.shm if view.machine else None
    if shm is None or shm > LITTLE_SHM:
        return
    several = len(view.gpus) > 1
    yield finding(
        "little-shm",
        Severity.WARNING if several else Severity.NOTE,
        f"{SHM} has {size(shm)}",
        "NCCL (several GPUs) and worker processes that exchange batches fail with bus errors when it is full",
        Remedy(text="start the container with more", command="docker run --shm-size=1g …"),
    )
