"""Facts of a host beside its GPUs: disk, memory, device nodes, modules, processes, settings, installed software."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from envbuilder.core.field_rules import At, Entries, Inside, Parsed
from envbuilder.core.json_input import printable
from envbuilder.core.observation import NOT_ASKED, Fact
from envbuilder.core.versions import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """A file system, in bytes.

    Attributes:
        free: Bytes available to this user.
    """

    path: str
    total: int
    free: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceNode:
    """A device node of the driver.

    Attributes:
        path: Such as `/dev/nvidia0`.
        error: Name of the error if this process could not open it: `EACCES` (mode), `EPERM` (device rules of a
            container), `ENXIO` and `ENODEV` (nothing behind it), `ENOENT`.
        mode: Permissions in octal; None when it is not there.
    """

    path: str
    present: bool
    error: str
    mode: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuModules:
    """The loaded kernel modules for GPUs."""

    nvidia: bool
    nvidia_uvm: bool
    nouveau: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BusGpu:
    """A GPU of NVIDIA on the PCI bus.

    Attributes:
        driver: Kernel driver that has it, such as `nvidia`, `nouveau` or `vfio-pci`; empty for none.
    """

    bus: str
    driver: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SmiGpu:
    """One GPU as reported by `nvidia-smi`; None for unknown values. Memory in bytes."""

    name: str
    driver: Release | None
    memory: int | None
    free: int | None
    capability: Release | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wsl:
    """Signs of the Windows Subsystem for Linux.

    Attributes:
        number: 1 or 2; 0 when this is another Linux.
        device: Whether `/dev/dxg` is there, by which Windows lends its GPU.
    """

    number: int
    device: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedProcess:
    """A process that holds GPU memory.

    Attributes:
        name: Its name; None when this user, or this container, cannot see it.
    """

    pid: int
    name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """The host.

    Attributes:
        disks: Of `/` and of the directory for temporary files.
        memory_available: Bytes that programs can still take; None when unknown.
        group_used: Bytes that the control group uses; None when unknown.
        modules: Kernel modules; None if unknown.
        bus: GPUs of NVIDIA on the PCI bus; None when the bus cannot be seen.
        nodes: Device nodes of the driver, sorted by path.
        smi: GPUs that `nvidia-smi` shows, in its order; None if it was not needed, or is not installed.
        container: Kind of container, such as `docker`; empty without a sign of one.
        virtual: Whether the processor reports that it is virtual; None if unknown.
        vendor: Vendor of the machine, such as `QEMU`; may be empty.
        all_processes: Whether numbers of processes mean here what they mean for the driver; None when unknown.
        processes: Those that hold GPU memory, by number.
        variables: `(name, value)` of the environment variables that matter and are set, sorted.
    """

    disks: tuple[Disk, ...]
    memory_available: Annotated[int | None, At("memory", "available")]
    group_used: Annotated[int | None, At("memory", "group_used")]
    modules: GpuModules | None
    bus: tuple[BusGpu, ...] | None
    nodes: Fact[tuple[DeviceNode, ...]] = NOT_ASKED
    smi: Annotated[tuple[SmiGpu, ...], Inside("gpus")] | None
    wsl: Wsl
    container: str
    virtual: Annotated[bool | None, At("virtualization", "virtual")]
    vendor: Annotated[str, At("virtualization", "vendor")]
    all_processes: bool | None
    processes: tuple[NamedProcess, ...]
    variables: Annotated[tuple[tuple[str, str], ...], Entries(ordered=True)]

    def variable(self, name: str) -> str | None:
        """Return the value of an environment variable; None if it is not set."""
        return dict(self.variables).get(name)


def _shown(value: object) -> str:
    """Return a constant of any type as text; a list becomes one text, and what has no short text is empty."""
    if isinstance(value, list):
        return ", ".join(printable(str(entry)) for entry in value if not isinstance(entry, list | dict))
    return printable(str(value)) if isinstance(value, str | int) else ""


BuildInfo: TypeAlias = Annotated[
    tuple[tuple[str, Annotated[str, Parsed(_shown, of=object)]], ...], Entries(ordered=True)
]
"""Build properties that TensorFlow states, sorted by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """An installed Python distribution.

    Attributes:
        name: Normalized name.
        folder: Its directory on `sys.path`; empty if unknown.
        requires: Requirements without those of extras, in the order of the metadata; only for frameworks.
        modules: Those of `tensorflow` and `keras` whose files it installed.
    """

    name: str
    version: str
    folder: str = ""
    requires: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaFile:
    """A CUDA library on disk.

    Attributes:
        name: File name, such as `libcudnn.so.8`.
        real: The file that it is a link to.
        via: Search path of the loader: `LD_LIBRARY_PATH`, `RUNPATH` (of TensorFlow or of the interpreter), `loader`
            (cache and system directories); empty when it does not.
    """

    name: str
    path: str
    real: str
    via: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorFlowFiles:
    """The TensorFlow that an import would take.

    Attributes:
        info: Constants of its `build_info.py`, sorted by name; differs from release to release.
        keras: Version of the Keras inside of it; empty from 2.6 on, where Keras is a distribution.
        needed: CUDA libraries that it is linked against, sorted; the others are opened at run time.
    """

    folder: str
    info: BuildInfo
    keras: str
    needed: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftwareFacts:
    """Everything in the environment of one interpreter.

    Attributes:
        distributions: In the order of `sys.path`; a name may come twice, the first hides the others.
        tensorflow: None when there is no module of this name.
        files: CUDA libraries in the order in which the loader searches; last those that it does not reach.
        conda: Directory of the libraries of a conda environment; empty outside of one.
    """

    distributions: tuple[Distribution, ...]
    tensorflow: TensorFlowFiles | None
    files: Annotated[tuple[CudaFile, ...], At("libraries")]
    conda: str
