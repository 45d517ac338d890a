"""Properties of a machine that decide which environments run on it."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.core.versions import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class HostGpu:
    """One GPU.

    Attributes:
        name: Such as `NVIDIA A100-SXM4-40GB`; empty if unknown.
        capability: Compute capability; None when unknown.
        memory: Bytes; None when unknown.
        free: Bytes that were free at the time of the probe; None if unknown.
    """

    name: str
    capability: Release | None
    memory: int | None = None
    free: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One machine; unknown properties are None.

    Attributes:
        name: Its name in output: a file of facts, or a description.
        driver: Driver release.
        library: Release of the driver's library in user space; None if unknown. Newer than `driver` if NVIDIA's package
            for forward compatibility is in use.
        cuda: Newest CUDA release that the driver reports as supported.
        gpus: Its GPUs; empty if there are none.
        machine: Such as `x86_64`.
        glibc: The C library of the host, which an environment without a container uses; an image contains its own.
        avx: Whether the processor has AVX.
        fma: Whether the processor has FMA.
        memory: Bytes of main memory, or the limit of the control group.
        shm: Bytes of /dev/shm.
        is_described: Whether the user described it instead of a probe; properties that were not given do not matter.
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
