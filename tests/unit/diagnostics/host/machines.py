"""Machines for the tests: a sound one with a GPU, and whatever differs from it."""

from __future__ import annotations

from dataclasses import replace

from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.facts import (
    NOT_ASKED,
    Driver,
    DriverInterface,
    Fact,
    Facts,
    Gpu,
    LibcudaPath,
    Library,
    LibraryLoad,
    Seen,
)
from envbuilder.diagnostics.facts.hardware import GpuBytes, Nvml, NvmlGpu
from envbuilder.diagnostics.facts.host import BusGpu, DeviceNode, Disk, GpuModules, HostFacts, Wsl
from envbuilder.diagnostics.facts.node import Directory, Interpreter, Machine, NodeDirectory
from envbuilder.diagnostics.host.environment import (
    EngineAnswers,
    EngineSilent,
    HostEnvironment,
    Silence,
    SourceKind,
    SourceSeen,
)
from envbuilder.diagnostics.host.machine_view import MachineView
from tests.unit.diagnostics.checks.cases import facts_named

GIB = 1 << 30
DRIVER = Release("550.54.15")


def gpu(index: int = 0, **changes: object) -> NvmlGpu:
    """A sound GPU that nobody holds."""
    sound = NvmlGpu(
        index=index,
        name="NVIDIA A100-SXM4-40GB",
        uuid=f"GPU-{index}0000000-0000",
        capability=Release("8.0"),
        memory=GpuBytes(total=40 * GIB, used=0, free=40 * GIB),
        mig=False,
        instances=None,
        ecc=True,
        persistence=True,
        compute_mode="default",
        bus=f"00000000:0{index}:00.0",
        processes=(),
        errors=(),
        uncorrected=0,
        rows_pending=False,
        rows_failed=False,
    )
    return replace(sound, **changes)  # type: ignore[arg-type]


def nvml(*gpus: NvmlGpu, **changes: object) -> Nvml:
    """A management library that works."""
    works = Nvml(
        loadable=True,
        error="",
        stub=False,
        init_code=0,
        init_name="Success",
        driver=DRIVER,
        visible=None,
        gpus=gpus or (gpu(),),
        path=f"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.{DRIVER}",
    )
    return replace(works, **changes)  # type: ignore[arg-type]


NO_NVML = nvml(loadable=False, error="libnvidia-ml.so.1: cannot open", init_code=None, driver=None, gpus=(), path="")


def interface(**changes: object) -> DriverInterface:
    """A driver that starts."""
    starts = DriverInterface(
        loadable=True,
        error="",
        path="/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15",
        stub=False,
        cuda=Release("12.4"),
        init_code=0,
        init_name="CUDA_SUCCESS",
        gpus=(Gpu(index=0, error="", name="NVIDIA A100-SXM4-40GB", capability=Release("8.0"), memory=40 * GIB),),
    )
    return replace(starts, **changes)  # type: ignore[arg-type]


NO_LIBCUDA = interface(
    loadable=False, error="libcuda.so.1: cannot open", path="", cuda=None, init_code=None, init_name="", gpus=()
)


def node(path: str, **changes: object) -> DeviceNode:
    """A device node that opens."""
    return replace(
        DeviceNode(path=path, present=True, error="", mode="666"),
        **changes,  # type: ignore[arg-type]
    )


NODES = tuple(node(f"/dev/nvidia{name}") for name in ("-uvm", "0", "ctl"))
NO_NODES = tuple(
    DeviceNode(path=f"/dev/nvidia{name}", present=False, error="ENOENT", mode=None) for name in ("-uvm", "ctl")
)


def host(**changes: object) -> HostFacts:
    """A host with room, and nothing in the way."""
    sound = HostFacts(
        disks=(Disk(path="/", total=500 * GIB, free=200 * GIB), Disk(path="/tmp", total=500 * GIB, free=200 * GIB)),
        memory_available=60 * GIB,
        group_used=None,
        modules=GpuModules(nvidia=True, nvidia_uvm=True, nouveau=False),
        bus=(BusGpu(bus="0000:00:00.0", driver="nvidia"),),
        nodes=Seen(value=NODES),
        smi=None,
        wsl=Wsl(number=0, device=False),
        container="",
        virtual=False,
        vendor="",
        all_processes=True,
        processes=(),
        variables=(),
    )
    return replace(sound, **changes)  # type: ignore[arg-type]


MACHINE = Machine(
    cpu="AMD EPYC", avx=True, avx2=True, fma=True, memory=64 * GIB, memory_limit=None, shm=32 * GIB, kernel="6.1.0"
)
STARTS, MANAGED, HOST = interface(), nvml(), host()
SAID_NO: dict[str, object] = {
    "modules": GpuModules(nvidia=False, nvidia_uvm=False, nouveau=False),
    "nodes": Seen(value=NO_NODES),
}


def machine(**changes: object) -> Machine:
    return replace(MACHINE, **changes)  # type: ignore[arg-type]


def library(soname: str, via: str) -> Library:
    load = LibraryLoad(loaded=True, error="", path=f"/opt/{soname}", via=via, version=Release("8.0.5"))
    return Library(soname=soname, load=Seen(value=load))


def facts(
    *,
    nvml: Fact[Nvml] | Nvml | None = None,
    interface: Fact[DriverInterface] | DriverInterface | None = None,
    module: str | None = "550.54.15",
    library: str | None = "550.54.15",
    host: HostFacts | None = None,
    machine: Machine = MACHINE,
    libcuda: tuple[LibcudaPath, ...] = (),
    libraries: tuple[Library, ...] = (),
    interpreter: dict[str, object] | None = None,
    node: dict[str, object] | None = None,
) -> Facts:
    """Facts of a sound machine, with these parts instead of its own; those of a node by their names."""
    base = facts_named("tf-2.15-cpu")
    assert isinstance(base.interpreter, Seen)
    python: Interpreter = replace(base.interpreter.value, **{"ld_library_path": "", **(interpreter or {})})  # type: ignore[arg-type]
    starts, managed = interface or STARTS, nvml or MANAGED
    driver = Driver(
        interface=Seen(value=starts) if isinstance(starts, DriverInterface) else starts,
        module=Release(module) if module else None,
        library=Release(library) if library else None,
    )
    return replace(
        base,
        origin="this host",
        interpreter=Seen(value=python),
        machine=Seen(value=machine),
        libraries=Seen(value=libraries),
        driver=Seen(value=driver),
        libcuda=Seen(value=libcuda),
        nvml=Seen(value=managed) if isinstance(managed, Nvml) else managed,
        compute=NOT_ASKED,
        host=Seen(value=host or HOST),
        distributions=NOT_ASKED,
        imported=NOT_ASKED,
        build=NOT_ASKED,
        devices=NOT_ASKED,
        **{name: Seen(value=value) for name, value in (node or {}).items()},  # type: ignore[arg-type]
    )


def directory(path: str, **changes: object) -> Directory:
    """A directory with room in which files can be created and locked."""
    sound = Directory(
        path=path, type="ext4", options=("rw",), writable=True, error="", locks=True, lock_error="", owner=1000,
    )  # fmt: skip
    return replace(sound, **changes)  # type: ignore[arg-type]


def directories(
    *, home: Directory | None = None, temporary: Directory | None = None, root: Directory | None = None
) -> dict[str, object]:
    """The directories of a node, sound ones unless given."""
    states = {"home": home or directory("/home/me"), "root": root or directory("/", locks=None, owner=None)}
    states["temporary"] = temporary or directory("/tmp")
    return {"directories": tuple(NodeDirectory(role=role, state=Seen(value=each)) for role, each in states.items())}


def view(host_environment: HostEnvironment | None = None, **parts: object) -> MachineView:
    """What the findings look at."""
    return MachineView(facts=facts(**parts), host_environment=host_environment)  # type: ignore[arg-type]


def without_driver(**changes: object) -> MachineView:
    """A machine without any part of a driver, and with these facts of its host."""
    return view(
        nvml=NO_NVML, interface=NO_LIBCUDA, module=None, library=None, host=host(**{"bus": (), **SAID_NO, **changes})
    )


ENGINE = EngineAnswers(
    version="28.5.2",
    api="1.51",
    storage="overlay2",
    buildkit=True,
    gpus=True,
    root="/var/lib/docker",
    root_free=200 * GIB,
    rootless=False,
    context="",
)


def engine(**changes: object) -> EngineAnswers:
    return replace(ENGINE, **changes)  # type: ignore[arg-type]


def source(kind: SourceKind = SourceKind.INDEX, **changes: object) -> SourceSeen:
    sound = SourceSeen(kind=kind, host="", chosen="a default", silence=None, status=200, seconds=0.1, proxied=False)
    return replace(sound, **changes)  # type: ignore[arg-type]


SILENT = source(silence=Silence.TIME, status=None)
NO_ENGINE = EngineSilent(why="no container engine answers: Connection refused", remedy="start it", denied=False)


def around(**changes: object) -> HostEnvironment:
    """Everything answers."""
    sound = HostEnvironment(
        engine=ENGINE,
        sandbox="runc 1.1.5",
        why_no_sandbox="",
        sources=tuple(source(kind) for kind in SourceKind),
        unnamed=(),
        ca_bundles=(),
        proxies=(),
        limit=1.0,
    )
    return replace(sound, **changes)  # type: ignore[arg-type]
