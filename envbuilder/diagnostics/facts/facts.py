"""Facts of the probe as typed values, without judgement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from envbuilder.core.field_rules import At, Entries, Inside
from envbuilder.core.observation import NOT_ASKED, Fact, Seen, Unseen, known
from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.gpu import GpuTier, MemoryFacts
from envbuilder.diagnostics.facts.hardware import Compute, Nvml
from envbuilder.diagnostics.facts.host import BuildInfo, HostFacts, SoftwareFacts
from envbuilder.diagnostics.facts.node import (
    Clock,
    Interpreter,
    Machine,
    Network,
    NodeDirectory,
    Scheduler,
    UserNamespaces,
)

# Re-exported for readers of facts.
__all__ = ["NOT_ASKED", "Fact", "Seen", "Unseen", "known"]

FACTS_SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryLoad:
    """The result of opening one library.

    Attributes:
        error: Message of the loader; empty on success.
        path: Real path; empty when it could not.
        via: Search path: `LD_LIBRARY_PATH`, `RUNPATH` (of TensorFlow) or `loader` (cache and system directories).
        version: Version that the library reports; None if it has no function for that.
        stand_in: Whether it is a stand-in of a proof and not NVIDIA's library.
    """

    loaded: bool
    error: str
    path: str
    via: str
    version: Release | None
    stand_in: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """One library that the probe was asked to open."""

    soname: str
    load: Fact[LibraryLoad] = NOT_ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class CudnnStart:
    """The first call into cuDNN that creates something.

    Attributes:
        status: Its result; 0 is success.
    """

    soname: str
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU as reported by the driver.

    Attributes:
        error: Reason for missing values; usually empty.
        name: Such as `NVIDIA A100-SXM4-40GB`.
        capability: Compute capability; None if unknown.
        memory: Bytes; None if unknown.
    """

    index: int
    error: str
    name: str = ""
    capability: Release | None
    memory: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverInterface:
    """Facts about `libcuda.so.1`.

    Attributes:
        stub: Whether it is the linker's stub and no driver; also True for a stand-in.
        cuda: Newest CUDA that it supports.
        init_code: Result of `cuInit`; 0 is success; None when not called.
        init_name: Its name, such as `CUDA_ERROR_NO_DEVICE`.
        gpus: By index; empty when `cuInit` failed.
    """

    loadable: bool
    error: str
    path: str = ""
    stub: bool = False
    stand_in: bool = False
    cuda: Release | None = None
    init_code: Annotated[int | None, At("init", "code")] = None
    init_name: Annotated[str, At("init", "name")] = ""
    gpus: tuple[Gpu, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """The driver.

    Attributes:
        interface: Its user-space library.
        module: Release of the kernel module; None without one.
        library: Release in the file name of the user-space library; None when it has none.
    """

    interface: Fact[DriverInterface] = NOT_ASKED
    module: Annotated[Release | None, At("module", "release")]
    library: Release | None

    @property
    def release(self) -> Release | None:
        """The driver release: that of the kernel module if known."""
        return self.module or self.library


@dataclass(frozen=True, slots=True, kw_only=True)
class LibcudaPath:
    """One `libcuda.so.1` that a program could load at run time.

    Attributes:
        source: `cache` or `LD_LIBRARY_PATH`.
        stub: Whether it is the linker's stub; also True for a stand-in.
    """

    source: str
    path: str
    stub: bool
    stand_in: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCheck:
    """The result of TensorFlow's own test of the CUDA libraries.

    Attributes:
        available: Whether this release exports it.
        ok: Its result; None when it is not available.
        missing: Libraries that it named, sorted.
    """

    available: bool
    ok: bool | None
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """TensorFlow after its import."""

    version: str
    git_version: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildFacts:
    """The build properties that the wheel states.

    Attributes:
        info: Other properties, sorted by name; differs from release to release.
    """

    cuda: bool
    info: BuildInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """A tiny training on fixed data.

    Attributes:
        how: `session` or `keras`.
        first: Loss of the first step; None when it is not a finite number.
        last: Loss of the last step; likewise.
    """

    how: str
    steps: int
    first: float | None
    last: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrip:
    """A model saved and loaded back.

    Attributes:
        format: `checkpoint`, `h5` or `keras`.
        difference: Largest difference of the outputs; None when it is not a finite number.
    """

    format: str
    equal: bool
    difference: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """An operation that was requested on one device.

    Attributes:
        on_device: Whether that is the device asked for.
        difference: Largest difference from numpy; None when it ran elsewhere or is not a finite number.
    """

    placed: str
    on_device: bool
    difference: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuWork:
    """The results of one GPU.

    Attributes:
        asked: Device asked for, such as `/GPU:0`.
        matmul: Matrix product (cuBLAS).
        convolution: Convolution (cuDNN).
    """

    asked: str
    matmul: Fact[Placed] = NOT_ASKED
    convolution: Fact[Placed] = NOT_ASKED


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All facts of one run of the probe.

    Attributes:
        origin: Origin of the facts, such as an image reference or a file.
        distributions: `(normalized name, version)`, sorted by name.
        libraries: Sorted by soname.
        libcuda: Libraries on the run-time path, in the order in which the loader searches.
        devices: Types of TensorFlow's devices, in its order: `CPU`, `GPU`, `XLA_CPU`, …
        saving: One entry per format.
        gpu: One entry per GPU that TensorFlow sees; empty when it sees none.
        log: Lines about libraries and GPUs that TensorFlow wrote.
        directories: Directories that jobs write to, sorted by role.
    """

    origin: str
    seconds: float
    interpreter: Fact[Interpreter] = NOT_ASKED
    machine: Fact[Machine] = NOT_ASKED
    distributions: Fact[Annotated[tuple[tuple[str, str], ...], Entries(ordered=True)]] = NOT_ASKED
    libraries: Fact[Annotated[tuple[Library, ...], Entries(ordered=True)]] = NOT_ASKED
    driver: Fact[Driver] = NOT_ASKED
    libcuda: Annotated[Fact[Annotated[tuple[LibcudaPath, ...], Inside("libcuda")]], At("loader")] = NOT_ASKED
    own_check: Annotated[Fact[OwnCheck], At("tensorflow-own-check")] = NOT_ASKED
    imported: Annotated[Fact[Imported], At("tensorflow-import")] = NOT_ASKED
    build: Annotated[Fact[BuildFacts], At("tensorflow-build")] = NOT_ASKED
    devices: Annotated[Fact[tuple[Annotated[str, Inside("type")], ...]], At("tensorflow-devices")] = NOT_ASKED
    training: Annotated[Fact[Training], At("tensorflow-training")] = NOT_ASKED
    saving: Annotated[Fact[tuple[RoundTrip, ...]], At("tensorflow-saving")] = NOT_ASKED
    gpu: Annotated[Fact[Annotated[tuple[GpuWork, ...], Inside("gpus")]], At("tensorflow-gpu")] = NOT_ASKED
    tier: Annotated[GpuTier, At()]
    log: Annotated[Fact[tuple[str, ...]], At("tensorflow-log")] = NOT_ASKED
    memory: Annotated[Fact[MemoryFacts], At("tensorflow-memory-policy")] = NOT_ASKED
    cudnn: Annotated[Fact[CudnnStart], At("cudnn-start")] = NOT_ASKED
    nvml: Fact[Nvml] = NOT_ASKED
    compute: Fact[Compute] = NOT_ASKED
    host: Fact[HostFacts] = NOT_ASKED
    software: Fact[SoftwareFacts] = NOT_ASKED
    directories: Fact[Annotated[tuple[NodeDirectory, ...], Entries(ordered=True)]] = NOT_ASKED
    namespaces: Annotated[Fact[UserNamespaces], At("user-namespaces")] = NOT_ASKED
    network: Fact[Network] = NOT_ASKED
    clock: Fact[Clock] = NOT_ASKED
    scheduler: Fact[Scheduler] = NOT_ASKED

    @property
    def interface(self) -> DriverInterface | None:
        """Facts about the driver's library; None if they are unknown."""
        driver = known(self.driver)
        return known(driver.interface) if driver else None

    @property
    def driver_gpus(self) -> tuple[Gpu, ...]:
        """GPUs that the driver's library shows; empty if they are unknown."""
        return self.interface.gpus if self.interface else ()
