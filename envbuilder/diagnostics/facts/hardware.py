"""Facts of the driver, the management library and CUDA's own libraries, without a framework."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from envbuilder.core.field_rules import At, Entries, Inside, Parsed
from envbuilder.core.observation import NOT_ASKED, Fact
from envbuilder.core.versions import Release, release_of

_DRIVER_FILE = re.compile(r"\.so\.(\d+\.\d+(?:\.\d+)?)$")


def _switch(text: str) -> bool:
    if text not in {"on", "off"}:
        raise ValueError("must be on or off")
    return text == "on"


Switch = Annotated[bool, Parsed(_switch, write=lambda on: "on" if on else "off")]
"""`on` or `off`."""


Measured = Annotated[float, Parsed(lambda number: number or 0.0, of=float | None, write=float)]
"""A number; 0 for `"nan"` and `"inf"`, which the probe writes as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProcess:
    """A process that holds memory of a GPU.

    Attributes:
        pid: Its number, on the host where the looking was done in a container.
        memory: Bytes; None if unknown.
    """

    pid: int
    memory: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuBytes:
    """Memory of a GPU in bytes.

    Attributes:
        used: By processes; with what the driver keeps where that is not told apart (before driver 510).
    """

    total: int
    used: int
    free: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmlGpu:
    """One GPU as reported by NVML; unknown values are None, with the reason in `errors`.

    Attributes:
        index: Its number for NVML, in the order of the bus; CUDA may count otherwise.
        name: Such as `NVIDIA A100-SXM4-40GB`.
        uuid: Such as `GPU-5c2e…`.
        mig: Whether it is split into MIG devices.
        instances: Number of MIG devices that this process may use; None without MIG.
        ecc: Whether its memory corrects errors.
        persistence: Whether the driver stays loaded without a program.
        compute_mode: `default`, `exclusive-process`, `exclusive-thread` or `prohibited`.
        processes: By pid; empty in many containers even where there are some.
        errors: `(attribute, reason)`, sorted; `handle` where nothing at all could be asked.
        uncorrected: Errors of its memory since the driver was loaded that could not be corrected.
        rows_pending: Whether rows of its memory are to be replaced at the next reset.
        rows_failed: Whether replacing rows has failed.
    """

    index: int
    name: str | None = None
    uuid: str | None = None
    capability: Release | None = None
    memory: GpuBytes | None = None
    mig: Switch | None = None
    instances: int | None = None
    ecc: Switch | None = None
    persistence: Switch | None = None
    compute_mode: str | None = None
    bus: str | None = None
    processes: tuple[GpuProcess, ...] | None = None
    errors: Annotated[tuple[tuple[str, str], ...], Entries(ordered=True)]
    uncorrected: int | None = None
    rows_pending: Annotated[bool | None, At("rows", "pending")] = None
    rows_failed: Annotated[bool | None, At("rows", "failed")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nvml:
    """Facts about `libnvidia-ml.so.1`.

    Attributes:
        stub: Whether it is the linker's stub.
        init_code: Result of `nvmlInit`; 0 is success; None when not called.
        init_name: It in words, such as `Driver/library version mismatch`.
        visible: CUDA_VISIBLE_DEVICES of the process; None when not set. NVML does not obey it.
        gpus: By index; empty when `nvmlInit` failed.
        path: Real path of the library; empty when it could not be opened.
    """

    loadable: bool
    error: str
    stub: bool = False
    init_code: Annotated[int | None, At("init", "code")] = None
    init_name: Annotated[str, At("init", "name")] = ""
    driver: Release | None
    visible: str | None
    gpus: tuple[NvmlGpu, ...]
    path: str = ""

    @property
    def library(self) -> Release | None:
        """Release in the file name of the library, such as `libnvidia-ml.so.535.104.05`; None if it has none."""
        found = _DRIVER_FILE.search(self.path)
        return release_of(found[1]) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRoundTrip:
    """Memory taken, written and read back.

    Attributes:
        free: Bytes that were free before any work.
        bus: Address on the PCI bus, such as `0000:3B:00.0`; NVML writes it with more zeros in front.
    """

    free: int
    total: int
    equal: bool
    bus: str


KnownResult: TypeAlias = Annotated[float | None, Inside("difference")]
"""Largest difference of an operation on small whole numbers from its exact result; None if a number is not finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedProduct:
    """A product of two square matrices in float32.

    Attributes:
        size: Rows.
        milliseconds: Best of a few, between two events on the GPU.
        teraflops: 2·size³ operations in that time, in 10¹² per second; None when no time passed.
    """

    size: int
    milliseconds: Measured
    teraflops: float | None
    equal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputeGpu:
    """The results of one GPU in CUDA's own libraries.

    Attributes:
        index: Its number for CUDA.
        memory: Runtime.
        matmul: cuBLAS.
        convolution: cuDNN.
        speed: cuBLAS.
    """

    index: int
    memory: Fact[MemoryRoundTrip] = NOT_ASKED
    matmul: Fact[KnownResult] = NOT_ASKED
    convolution: Fact[KnownResult] = NOT_ASKED
    speed: Fact[Annotated[tuple[TimedProduct, ...], Inside("products")]] = NOT_ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute:
    """Work on the GPUs without a framework.

    Attributes:
        has_runtime: Whether the CUDA runtime could be opened.
        stub: Whether `libcuda.so.1` is the linker's stub; None when it cannot be opened.
        runtime: CUDA of the runtime; None if unknown, as up to CUDA 11 without a GPU.
        driver: Newest CUDA that the driver supports; None without a driver.
        error: Reason why the GPUs could not be counted; empty on success.
        gpus: By index.
    """

    has_runtime: Annotated[bool, At("libraries", "cudart", "loaded")]
    stub: bool | None
    runtime: Release | None
    driver: Release | None
    error: str
    gpus: tuple[ComputeGpu, ...]
