"""A machine as far as it matters for which environments run on it."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.core.versions import Release


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
        library: Release of the driver's library in user space; None if unknown. Newer than `driver` where NVIDIA's
            package for forward compatibility is in use.
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
