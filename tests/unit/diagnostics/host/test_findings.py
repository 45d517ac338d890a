"""Every finding where it belongs, and the machines that look almost like it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.versions import Release
from envbuilder.diagnostics import host as examining
from envbuilder.diagnostics.facts.facts import NOT_ASKED, LibcudaPath, Seen, Unseen
from envbuilder.diagnostics.facts.hardware import GpuBytes, GpuProcess
from envbuilder.diagnostics.facts.host import BusGpu, Disk, GpuModules, NamedProcess, SmiGpu, Wsl
from envbuilder.diagnostics.facts.node import Clock, Directory, Network, NodeDirectory, Scheduler, UserNamespaces
from envbuilder.diagnostics.findings import Finding, Severity
from envbuilder.diagnostics.host.environment import CaBundle, Silence, SourceKind
from envbuilder.diagnostics.host.machine_view import MachineView
from envbuilder.diagnostics.host.table import findings
from tests.unit.diagnostics.host.machines import (
    GIB,
    NO_ENGINE,
    NO_LIBCUDA,
    NO_NODES,
    NO_NVML,
    NODES,
    SILENT,
    around,
    directories,
    directory,
    engine,
    gpu,
    host,
    interface,
    library,
    machine,
    node,
    nvml,
    source,
    view,
    without_driver,
)

P, W, N = Severity.PROBLEM, Severity.WARNING, Severity.NOTE
BUS = BusGpu(bus="0000:3b:00.0", driver="")
HELD = GpuBytes(total=40 * GIB, used=30 * GIB, free=10 * GIB)
PROCESS = GpuProcess(pid=4242, memory=30 * GIB)


# Words of the code that look like an id.
NO_IDS = {"nvidia-smi", "pci-stub", "vfio-pci"}
OTHERS = {"package_findings.py", "library_findings.py", "nearest_environment.py", "environment.py"}
# One of several names of a finding, whose near misses stand under another.
ALWAYS_OTHERWISE = {
    "compat-refused", "compute-prohibited", "engine-denied", "fabric-manager", "mig-without-instance",
    "other-processor", "wsl-1", "wsl-linux-driver",
}  # fmt: skip


def bus(driver: str) -> tuple[BusGpu, ...]:
    return (BusGpu(bus="0000:3b:00.0", driver=driver),)


def modules(*, nvidia: bool = True, uvm: bool = True, nouveau: bool = False) -> GpuModules:
    return GpuModules(nvidia=nvidia, nvidia_uvm=uvm, nouveau=nouveau)


def variables(**values: str) -> dict[str, object]:
    return {"variables": tuple(sorted(values.items()))}


def does_not_start(code: int, name: str = "CUDA_ERROR_UNKNOWN", **parts: object) -> MachineView:
    return view(None, interface=interface(init_code=code, init_name=name, gpus=()), **parts)


def nodes(*changed: object) -> dict[str, object]:
    return {"nodes": Seen(value=tuple(changed))}


NO_UVM = (NO_NODES[0], NODES[1], NODES[2])
STUB_PATH = LibcudaPath(source="LD_LIBRARY_PATH", path="/usr/local/cuda/lib64/stubs/libcuda.so.1", stub=True)
REAL_PATH = LibcudaPath(source="cache", path="/usr/lib/libcuda.so.1", stub=False)
WSL = Wsl(number=2, device=True)
SMI: tuple[SmiGpu, ...] = ()

# The container has a libcuda of its own, and the kernel shows it the module of its host.
BARE_CONTAINER = does_not_start(
    100, nvml=NO_NVML, module="535.104.05", host=host(container="docker", **nodes(*NO_NODES))
)

ROOT = {"uid": 0}
READ_ONLY = directory("/", writable=False, error="EROFS", locks=None, owner=None)
NO_FILE = {"writable": False, "locks": None, "owner": None}
NFS_HOME = directory("/home/me", type="nfs4")
NAMESPACES = UserNamespaces(works=True, error="", limit=15000, unprivileged=None, apparmor=None)
NO_NAMESPACES = replace(NAMESPACES, works=False, error="EPERM")
LOGIN = Scheduler(name="slurm", job=False)
DEAD_MOUNT = (NodeDirectory(role="home", state=Unseen(kind="Timeout", message="no answer after 6 s")),)
TMPFS = Disk(path="/tmp", total=GIB, free=GIB)
ROOT_DISK = Disk(path="/", total=500 * GIB, free=200 * GIB)


def no_file(error: str) -> Directory:
    """A HOME on a file server in which no file can be created."""
    return replace(NFS_HOME, error=error, writable=False, locks=None, owner=None)


def at(home: object = None, *, uid: int = 1000, **parts: object) -> MachineView:
    """A machine with this HOME."""
    return view(node=directories(home=home, **parts), interpreter={"uid": uid})  # type: ignore[arg-type]


# Id, severity, what it says, the machine.
CAUGHT: list[tuple[str, Severity, str, MachineView]] = [
    ("no-driver", P, "1 NVIDIA GPU on the PCI bus, and no NVIDIA driver", without_driver(bus=(BUS,))),
    ("no-driver", P, "2 NVIDIA GPUs", without_driver(bus=(BUS, BUS))),
    ("driver-not-loaded", P, "its kernel module is not loaded", without_driver(bus=(BUS,), smi=SMI)),
    ("container-without-gpu", P, "1 NVIDIA GPU on the PCI bus, but this container was given none",
        without_driver(bus=bus("nvidia"), container="docker")),
    ("container-without-gpu", P, "the host has an NVIDIA driver",
        without_driver(modules=modules(), container="docker")),
    ("container-without-gpu", P, "this container was given none", BARE_CONTAINER),
    ("libcuda-missing", P, "libcuda.so.1: cannot open", view(interface=NO_LIBCUDA, library=None)),
    ("libcuda-missing", P, "libcuda.so.1: cannot open",
        view(interface=NO_LIBCUDA, library=None, host=host(container="docker"))),
    ("no-gpu", N, "no NVIDIA GPU here; CPU environments run", without_driver()),
    ("no-gpu", N, "in a container", without_driver(container="docker")),
    (
        "driver-mismatch", P, "the kernel module is 535.104.05, the libraries are 550.54.15",
        view(
            nvml=nvml(init_code=18, init_name="Driver/library version mismatch", gpus=(), driver=None),
            interface=interface(init_code=803, init_name="CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", gpus=()),
            module="535.104.05",
        ),
    ),
    ("driver-mismatch", P, "535.104.05", does_not_start(999, module="535.104.05")),
    (
        "driver-mismatch", P, "the libraries are of another",
        view(nvml=nvml(init_code=18, gpus=(), path=""), interface=NO_LIBCUDA, library=None),
    ),
    ("forward-compatibility", N, "is used with the older kernel module 535.104.05", view(module="535.104.05")),
    (
        "nouveau-loaded", P, "holds 0000:3b:00.0",
        without_driver(bus=bus("nouveau"), modules=modules(nvidia=False, nouveau=True)),
    ),
    ("uvm-missing", P, "/dev/nvidia-uvm does not exist: cuInit gives 999",
        does_not_start(999, host=host(**nodes(*NO_UVM)))),
    ("uvm-missing", P, "module nvidia_uvm is not loaded", does_not_start(999, host=host(modules=modules(uvm=False)))),
    ("uvm-missing", W, "/dev/nvidia-uvm does not exist", view(host=host(**nodes(*NO_UVM)))),
    (
        "devices-denied", P, "/dev/nvidia0 (mode 660)",
        does_not_start(100, host=host(**nodes(node("/dev/nvidia0", error="EACCES", mode="660")))),
    ),
    (
        "devices-withheld", P, "device rules forbid it",
        does_not_start(100, host=host(
            container="docker", **nodes(node("/dev/nvidia0", error="EPERM", mode="666")),
        )),
    ),
    ("stub-libcuda", P, "/stubs/", view(
        interface=interface(stub=True, path="/usr/local/cuda/lib64/stubs/libcuda.so", init_code=34, gpus=()))),
    ("stub-libcuda", W, STUB_PATH.path, view(libcuda=(REAL_PATH, STUB_PATH))),
    ("cuda-does-not-start", P, "cuInit gives 999 CUDA_ERROR_UNKNOWN", does_not_start(999)),
    ("cuda-sees-no-gpu", P, "cuInit gives 100", does_not_start(100, "CUDA_ERROR_NO_DEVICE")),
    ("fabric-manager", P, "cuInit gives 802", does_not_start(802, "CUDA_ERROR_SYSTEM_NOT_READY")),
    ("compat-refused", P, "cuInit gives 804", does_not_start(804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE")),
    ("driver-silent", P, "querying libcuda failed with Timeout", view(
        interface=Unseen(kind="Timeout", message="no answer after 90 s"))),
    (
        "driver-silent",
        P,
        "querying NVML failed with Signal: SIGSEGV",
        view(nvml=Unseen(kind="Signal", message="SIGSEGV")),
    ),
    ("wsl-1", W, "WSL 1", without_driver(wsl=Wsl(number=1, device=False))),
    ("wsl-2", N, "the driver is that of Windows", view(
        host=host(wsl=WSL, bus=None), interface=interface(path="/usr/lib/wsl/drivers/x/libcuda.so.1.1"))),
    ("wsl-driver-not-found", P, "does not find /usr/lib/wsl/lib/libcuda.so.1", without_driver(wsl=WSL)),
    ("wsl-linux-driver", P, "of a Linux driver", view(host=host(wsl=WSL, bus=None))),
    ("gpu-lent", N, "reserved for virtual machines (vfio-pci)", without_driver(bus=bus("vfio-pci"))),
    (
        "gpu-held", W, "GPU 0 is held by python 4242 (30 GiB), 10 GiB of 40 GiB are free",
        view(nvml=nvml(gpu(memory=HELD, processes=(PROCESS,))),
             host=host(processes=(NamedProcess(pid=4242, name="python"),))),
    ),
    ("gpu-held", W, "processes that are not visible from here (30 GiB)", view(nvml=nvml(gpu(memory=HELD)))),
    ("gpu-held", N, "process 7", view(nvml=nvml(gpu(processes=(GpuProcess(pid=7, memory=None),))))),
    ("mig", N, "split by MIG into 2 instances", view(nvml=nvml(gpu(mig=True, instances=2)))),
    ("mig-without-instance", P, "GPU 0", view(nvml=nvml(gpu(mig=True, instances=0)))),
    ("ecc-off", N, "GPUs 0, 1", view(nvml=nvml(gpu(0, ecc=False), gpu(1, ecc=False)))),
    ("persistence-off", N, "GPU 1", view(nvml=nvml(gpu(0), gpu(1, persistence=False)))),
    ("compute-prohibited", P, "GPU 0", view(nvml=nvml(gpu(compute_mode="prohibited")))),
    ("compute-exclusive", W, "one process at a time", view(nvml=nvml(gpu(compute_mode="exclusive-process")))),
    ("compute-exclusive", P, "and GPU 0 has one", view(
        nvml=nvml(gpu(compute_mode="exclusive-process", processes=(PROCESS,))))),
    ("gpu-faulty", P, "GPU is lost",
        view(nvml=nvml(gpu(name=None, memory=None, errors=(("handle", "15 GPU is lost"),))))),
    ("gpu-faulty", P, "3 uncorrected errors", view(nvml=nvml(gpu(uncorrected=3)))),
    ("gpu-faulty", P, "replacing defective memory rows", view(nvml=nvml(gpu(rows_failed=True)))),
    ("gpu-reset-pending", W, "needs a reset", view(nvml=nvml(gpu(rows_pending=True)))),
    ("gpus-differ", N, "2 GPUs of 2 kinds",
        view(nvml=nvml(gpu(0), gpu(1, name="Tesla T4", capability=Release("7.5"))))),
    ("visible-devices-none", P, "hides every GPU", view(host=host(**variables(CUDA_VISIBLE_DEVICES="")))),
    ("visible-devices-none", P, "hides every GPU", view(host=host(**variables(CUDA_VISIBLE_DEVICES="-1")))),
    ("visible-devices-none", P, "names no GPU", view(host=host(**variables(CUDA_VISIBLE_DEVICES="1")))),
    ("visible-devices-none", P, "names no GPU", view(host=host(**variables(CUDA_VISIBLE_DEVICES="GPU-9abc")))),
    ("visible-devices-cut", W, "'3' is not a GPU", view(host=host(**variables(CUDA_VISIBLE_DEVICES="0,3")))),
    ("driver-capabilities", P, "leaves out compute",
        view(host=host(container="docker", **variables(NVIDIA_DRIVER_CAPABILITIES="utility")))),
    ("driver-capabilities", N, "leaves out utility",
        view(host=host(container="docker", **variables(NVIDIA_DRIVER_CAPABILITIES="compute,video")))),
    ("container-asks-for-no-gpu", N, "requests no GPU",
        without_driver(container="docker", **variables(NVIDIA_VISIBLE_DEVICES="void"))),
    ("container-asks-for-no-gpu", W, "requests no GPU",
        without_driver(container="docker", bus=bus("nvidia"), **variables(NVIDIA_VISIBLE_DEVICES="none"))),
    ("foreign-cuda-libraries", W, "libcudnn.so.8 8.0.5",
        view(libraries=(library("libcudnn.so.8", "LD_LIBRARY_PATH"),), interpreter={"ld_library_path": "/opt"})),
    ("kernel-cache-small", W, "at most 1 MiB", view(host=host(**variables(CUDA_CACHE_MAXSIZE="1048576")))),
    ("settings-in-force", N, "TF_GPU_ALLOCATOR=cuda_malloc_async",
        view(host=host(**variables(TF_GPU_ALLOCATOR="cuda_malloc_async")))),
    ("no-avx", P, "does not report AVX", view(machine=machine(avx=False))),
    ("other-processor", P, "aarch64", view(interpreter={"machine": "aarch64"})),
    ("little-memory", W, "1 GiB of memory are free", view(host=host(memory_available=GIB))),
    ("little-memory", W, "(the limit of the control group is 4 GiB)",
        view(machine=machine(memory_limit=4 * GIB), host=host(group_used=3 * GIB))),
    ("little-disk", W, "5 GiB free at /", view(host=host(disks=(Disk(path="/", total=500 * GIB, free=5 * GIB),)))),
    ("file-system-silent", P, "file system of HOME does not respond: no answer after 6 s", view(
        node={"directories": DEAD_MOUNT})),
    ("temporary-not-writable", P, "no file can be created in /tmp: EACCES",
        at(temporary=directory("/tmp", error="EACCES", **NO_FILE))),
    ("temporary-not-writable", P, "the whole root file system is mounted read-only",
        at(temporary=directory("/tmp", error="EROFS", **NO_FILE), root=READ_ONLY)),
    ("read-only-root", N, "mounted read-only", at(root=READ_ONLY)),
    ("home-not-writable", W, "(/home/me, ext4): EROFS", at(directory("/home/me", error="EROFS", **NO_FILE))),
    ("home-not-writable", W, "EACCES", at(no_file("EACCES"))),
    ("root-squash", W, "belongs to user 65534", at(replace(NFS_HOME, owner=65534), uid=0)),
    ("root-squash", W, "root is refused: EACCES", at(no_file("EACCES"), uid=0)),
    ("home-without-locks", W, "(/home/me, nfs4) cannot be locked with flock: ENOLCK",
        at(replace(NFS_HOME, locks=False, lock_error="ENOLCK"))),
    ("locks-of-one-node", W, "mount option nolock", at(replace(NFS_HOME, type="nfs", options=("nolock", "rw")))),
    ("locks-of-one-node", W, "local_lock=flock", at(replace(NFS_HOME, options=("local_lock=flock", "rw")))),
    ("no-user-namespaces", W, "ENOSPC (user.max_user_namespaces is 0)", view(
        node={"namespaces": replace(NO_NAMESPACES, error="ENOSPC", limit=0)})),
    ("no-user-namespaces", W, "EPERM (kernel.unprivileged_userns_clone is 0)", view(
        node={"namespaces": replace(NO_NAMESPACES, unprivileged=0)})),
    ("no-user-namespaces", W, "EPERM (AppArmor restricts them)", view(
        node={"namespaces": replace(NO_NAMESPACES, apparmor=1)})),
    ("no-user-namespaces", W, "user namespaces: EPERM", view(node={"namespaces": NO_NAMESPACES})),
    ("no-route-out", W, "no default route", view(node={"network": Network(route=False, proxy=False)})),
    ("no-route-out", N, "no default route", view(
        node={"network": Network(route=False, proxy=False)}, host=host(container="docker"))),
    ("little-tmp", W, "1 GiB of 1 GiB are free at /tmp, a file system of its own (tmpfs", view(
        host=host(disks=(ROOT_DISK, TMPFS)), node=directories(temporary=directory("/tmp", type="tmpfs")))),
    ("little-tmp", W, "a file system of its own", view(host=host(disks=(ROOT_DISK, TMPFS)))),
    ("clock-not-synchronized", N, "no time server", view(node={"clock": Clock(time=1.0, synchronized=False)})),
    ("login-node", N, "commands of Slurm are installed", MachineView(facts=replace(
        without_driver().facts, scheduler=Seen(value=LOGIN)))),
    ("little-shm", N, "/dev/shm has 64 MiB", view(machine=machine(shm=64 << 20))),
    ("little-shm", W, "/dev/shm has 64 MiB", view(machine=machine(shm=64 << 20), nvml=nvml(gpu(0), gpu(1)))),
    ("engine-silent", W, "runc 1.1.5 runs images without one", view(around(engine=NO_ENGINE))),
    ("engine-denied", W, "Permission denied", view(around(engine=type(NO_ENGINE)(
        why="no container engine answers: Permission denied", remedy="add your user to the group", denied=True)))),
    ("no-sandbox", W, "the kernel refuses", view(
        around(engine=NO_ENGINE, sandbox="", why_no_sandbox="namespaces: the kernel refuses"))),
    ("engine-old", W, "Docker 18.06", view(around(engine=engine(version="18.06.3", api="1.38", buildkit=False)))),
    ("engine-old", W, "Docker 18.09", view(around(engine=engine(version="18.09.1", api="1.39")))),
    ("engine-old", W, "Docker 26.1.5", view(around(engine=engine(version="26.1.5", api="1.45", buildkit=False)))),
    ("engine-without-gpus", P, "no NVIDIA runtime and no CDI device", view(around(engine=engine(gpus=False)))),
    ("engine-disk", W, "5 GiB free at /var/lib/docker", view(around(engine=engine(root_free=5 * GIB)))),
    ("source-silent", W, "no answer within 1 s", view(around(sources=(SILENT,)))),
    ("source-silent", W, "through the proxy", view(around(sources=(
        source(silence=Silence.PROXY, status=None, proxied=True),)))),
    ("source-silent", W, "mirror.example", view(around(sources=(
        source(SourceKind.DEBIAN, silence=Silence.CERTIFICATE, status=None, host="mirror.example"),)))),
    ("source-fails", W, "status 407", view(around(sources=(source(status=407),)))),
    ("source-fails", W, "status 503", view(around(sources=(source(status=503),)))),
    ("ca-bundle-gone", P, "SSL_CERT_FILE names /nowhere.pem", view(
        around(ca_bundles=(CaBundle(variable="SSL_CERT_FILE", path="/nowhere.pem", readable=False),)))),
]  # fmt: skip

# Id, and a machine that comes near.
PASSED: list[tuple[str, MachineView]] = [
    ("no-driver", without_driver()),
    ("no-driver", without_driver(bus=bus("vfio-pci"))),
    ("no-driver", without_driver(bus=(BUS,), container="docker")),
    ("no-driver", view()),
    ("driver-not-loaded", without_driver(bus=(BUS,))),
    ("driver-not-loaded", without_driver(smi=SMI)),
    ("container-without-gpu", view(host=host(container="docker"))),
    ("container-without-gpu", without_driver(container="docker")),
    ("container-without-gpu", view(nvml=NO_NVML, host=host(container="docker"))),
    ("container-without-gpu", does_not_start(
        100, nvml=NO_NVML, host=host(container="docker", **nodes(node("/dev/nvidia0", error="EPERM"))))),
    ("driver-mismatch", BARE_CONTAINER),
    ("cuda-sees-no-gpu", BARE_CONTAINER),
    ("container-without-gpu", without_driver(bus=(BUS,))),
    ("libcuda-missing", without_driver()),
    ("libcuda-missing", without_driver(modules=modules(), container="docker")),
    ("libcuda-missing", view()),
    ("no-gpu", without_driver(bus=(BUS,))),
    ("no-gpu", without_driver(wsl=WSL)),
    ("no-gpu", view()),
    ("driver-mismatch", view(module="550.54.15")),
    ("driver-mismatch", view(module="535.104.05")),
    ("driver-mismatch", without_driver()),
    ("forward-compatibility", view(module="560.28.03")),
    ("forward-compatibility", does_not_start(803, module="535.104.05")),
    ("nouveau-loaded", without_driver(modules=modules(nvidia=False, nouveau=True))),
    ("nouveau-loaded", view(host=host(modules=modules(nouveau=True)))),
    ("uvm-missing", without_driver()),
    ("uvm-missing", does_not_start(999)),
    ("devices-denied", without_driver()),
    ("devices-denied", view(host=host(**nodes(node("/dev/nvidiactl", error="ENXIO"))))),
    ("devices-withheld", view()),
    ("stub-libcuda", view(libcuda=(REAL_PATH,))),
    ("cuda-does-not-start", does_not_start(999, host=host(**nodes(*NO_UVM)))),
    ("cuda-does-not-start", does_not_start(999, module="535.104.05")),
    ("cuda-does-not-start", without_driver()),
    ("cuda-sees-no-gpu", does_not_start(100, host=host(**variables(CUDA_VISIBLE_DEVICES="")))),
    ("driver-silent", view(nvml=NO_NVML)),
    ("wsl-2", view()),
    ("wsl-driver-not-found", without_driver(wsl=Wsl(number=2, device=False))),
    ("gpu-lent", view()),
    ("gpu-held", view()),
    ("gpu-held", view(nvml=nvml(gpu(memory=GpuBytes(total=40 * GIB, used=GIB, free=39 * GIB))))),
    ("mig", view(nvml=nvml(gpu(mig=None)))),
    ("ecc-off", view(nvml=nvml(gpu(ecc=None)))),
    ("persistence-off", view(nvml=nvml(gpu(persistence=None)))),
    ("persistence-off", view(nvml=nvml(gpu(persistence=False)), host=host(wsl=WSL))),
    ("compute-exclusive", view(nvml=nvml(gpu(compute_mode=None)))),
    ("gpu-faulty", view(nvml=nvml(gpu(errors=(("mig", "3 Not Supported"),), uncorrected=None)))),
    ("gpu-reset-pending", view(nvml=nvml(gpu(rows_pending=None)))),
    ("gpus-differ", view(nvml=nvml(gpu(0), gpu(1)))),
    ("visible-devices-none", view(host=host(**variables(CUDA_VISIBLE_DEVICES="0")))),
    ("visible-devices-none", view(host=host(**variables(CUDA_VISIBLE_DEVICES="GPU-00000000")))),
    ("visible-devices-none", without_driver(**variables(CUDA_VISIBLE_DEVICES="-1"))),
    ("visible-devices-none", view(
        nvml=nvml(gpu(mig=True, instances=1)), host=host(**variables(CUDA_VISIBLE_DEVICES="MIG-1")))),
    ("visible-devices-cut", view(
        nvml=nvml(gpu(0), gpu(1)), host=host(**variables(CUDA_VISIBLE_DEVICES="1,0")))),
    ("driver-capabilities", view(host=host(container="docker", **variables(NVIDIA_DRIVER_CAPABILITIES="all")))),
    ("driver-capabilities", view(host=host(**variables(NVIDIA_DRIVER_CAPABILITIES="video")))),
    ("container-asks-for-no-gpu", without_driver(container="docker", **variables(NVIDIA_VISIBLE_DEVICES="all"))),
    ("foreign-cuda-libraries", view(
        libraries=(library("libcudnn.so.8", "loader"),), interpreter={"ld_library_path": "/opt"})),
    ("kernel-cache-small", view(host=host(**variables(CUDA_CACHE_MAXSIZE="4294967296")))),
    ("kernel-cache-small", view(host=host(**variables(CUDA_CACHE_MAXSIZE="4 GiB")))),
    ("settings-in-force", view(host=host(**variables(LD_LIBRARY_PATH="/opt")))),
    ("no-avx", view(machine=machine(avx=None))),
    ("little-memory", view(host=host(memory_available=None))),
    ("little-memory", view(machine=machine(memory_limit=4 * GIB), host=host(group_used=None))),
    ("little-disk", view(host=host(disks=()))),
    ("little-disk", view(host=host(disks=(ROOT_DISK, TMPFS)))),
    ("little-tmp", view(host=host(disks=(ROOT_DISK, ROOT_DISK)))),
    ("little-tmp", view(host=host(disks=(replace(ROOT_DISK, free=GIB), replace(ROOT_DISK, path="/tmp", free=GIB))))),
    ("little-tmp", view(host=host(disks=(ROOT_DISK, replace(TMPFS, total=64 * GIB, free=60 * GIB))))),
    ("file-system-silent", view(node={"directories": (
        NodeDirectory(role="home", state=Unseen(kind="PermissionError", message="denied")),)})),
    ("file-system-silent", at()),
    ("temporary-not-writable", at(root=READ_ONLY)),
    ("read-only-root", at(temporary=directory("/tmp", error="EROFS", **NO_FILE), root=READ_ONLY)),
    ("read-only-root", at()),
    ("home-not-writable", at(no_file("EACCES"), uid=0)),
    ("home-not-writable", at()),
    ("root-squash", at(replace(NFS_HOME, owner=65534))),
    ("root-squash", at(directory("/home/me", error="EACCES", **NO_FILE), uid=0)),
    ("root-squash", at(replace(NFS_HOME, owner=0), uid=0)),
    ("root-squash", at(no_file("EROFS"), uid=0)),
    ("home-without-locks", at(NFS_HOME)),
    ("home-without-locks", at(replace(NFS_HOME, locks=None, writable=False, error="EROFS"))),
    ("locks-of-one-node", at(replace(NFS_HOME, options=("local_lock=none", "rw")))),
    ("locks-of-one-node", at(replace(NFS_HOME, options=("nolock",), locks=False, lock_error="ENOLCK"))),
    ("no-user-namespaces", view(node={"namespaces": NAMESPACES})),
    ("no-user-namespaces", view(node={"namespaces": NO_NAMESPACES}, host=host(container="docker"))),
    ("no-route-out", view(node={"network": Network(route=False, proxy=True)})),
    ("no-route-out", view(node={"network": Network(route=None, proxy=False)})),
    ("no-route-out", view(node={"network": Network(route=True, proxy=False)})),
    ("clock-not-synchronized", view(node={"clock": Clock(time=1.0, synchronized=None)})),
    ("clock-not-synchronized", view(node={"clock": Clock(time=1.0, synchronized=True)})),
    ("login-node", view(node={"scheduler": LOGIN})),
    ("login-node", MachineView(facts=replace(
        without_driver().facts, scheduler=Seen(value=replace(LOGIN, job=True))))),
    ("login-node", MachineView(facts=replace(
        without_driver().facts, scheduler=Seen(value=replace(LOGIN, name=""))))),
    ("login-node", MachineView(facts=replace(
        without_driver(bus=(BUS,)).facts, scheduler=Seen(value=LOGIN)))),
    ("little-shm", view(machine=machine(shm=None))),
    ("little-shm", view(machine=machine(shm=GIB))),
    ("engine-silent", view()),
    ("no-sandbox", view(around(engine=NO_ENGINE))),
    ("no-sandbox", view(around(sandbox="", why_no_sandbox="namespaces: the kernel refuses"))),
    ("engine-old", MachineView(
        facts=without_driver().facts, host_environment=around(engine=engine(version="18.09.1", api="1.39")))),
    ("engine-without-gpus", MachineView(
        facts=without_driver().facts, host_environment=around(engine=engine(gpus=False)))),
    ("engine-disk", view(around(engine=engine(root_free=None)))),
    ("source-silent", view(around())),
    ("source-fails", view(around(sources=(source(status=401),)))),
    ("ca-bundle-gone", view(around(ca_bundles=(CaBundle(variable="SSL_CERT_FILE", path="/x", readable=True),)))),
]  # fmt: skip


def found(seen: MachineView, name: str) -> list[Finding]:
    return [finding for finding in findings(seen) if finding.id == name]


@pytest.mark.parametrize(
    ("name", "severity", "says", "seen"), CAUGHT, ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_finding_is_there_and_says_what_was_seen(name: str, severity: Severity, says: str, seen: MachineView) -> None:
    hits = found(seen, name)

    assert [hit.severity for hit in hits] == [severity]
    assert says in hits[0].message


@pytest.mark.parametrize(("name", "seen"), PASSED, ids=lambda value: value if isinstance(value, str) else "")
def test_what_only_looks_like_it_is_none(name: str, seen: MachineView) -> None:
    assert found(seen, name) == []


def test_a_sound_machine_has_no_findings() -> None:
    assert findings(view(around())) == ()


def test_facts_without_the_host_give_no_finding_about_it() -> None:
    assert findings(MachineView(facts=replace(view().facts, host=NOT_ASKED))) == ()


def test_facts_of_an_earlier_probe_tell_which_gpus_are_hidden() -> None:
    earlier = replace(view(nvml=nvml(visible="-1")).facts, host=NOT_ASKED)
    assert [finding.id for finding in findings(MachineView(facts=earlier))] == ["visible-devices-none"]


def test_the_worst_comes_first() -> None:
    seen = view(around(sources=(SILENT,)), nvml=nvml(gpu(ecc=False)), machine=machine(avx=False))
    assert [finding.severity for finding in findings(seen)] == [P, W, N]


@pytest.mark.parametrize("case", CAUGHT, ids=lambda case: case[0])
def test_a_problem_or_a_warning_says_what_it_does_or_how_to_mend_it(
    case: tuple[str, Severity, str, MachineView],
) -> None:
    name, severity, _, seen = case
    for hit in found(seen, name):
        assert severity is N or hit.effect or hit.remedies
        assert all(remedy.text for remedy in hit.remedies)


def test_every_finding_in_the_code_is_caught_and_passed_here() -> None:
    folder = Path(examining.__file__).parent
    # Installed versions have tests of their own; the environment of the host is a value.
    files = [file for file in folder.glob("*.py") if file.name not in OTHERS]
    code = "".join(file.read_text(encoding="utf-8") for file in files)
    named = {word for word in re.findall(r'"([a-z]+(?:-[a-z0-9]+)+)"', code) if word not in NO_IDS}
    assert named | {"mig"} == {name for name, *_ in CAUGHT}
    assert {name for name, _ in PASSED} >= named - ALWAYS_OTHERWISE


def test_processes_of_the_host_are_not_to_be_killed_from_a_container() -> None:
    held = nvml(gpu(memory=HELD, processes=(PROCESS,)))
    inside = found(view(nvml=held, host=host(container="docker", all_processes=False)), "gpu-held")[0]
    outside = found(view(nvml=held), "gpu-held")[0]

    assert "kill 4242" in [remedy.command for remedy in outside.remedies]
    assert not any("kill" in remedy.command for remedy in inside.remedies)


def test_a_free_gpu_beside_a_held_one_is_offered() -> None:
    both = nvml(gpu(0, memory=HELD, processes=(PROCESS,)), gpu(1))
    hit = found(view(nvml=both), "gpu-held")[0]
    assert "export CUDA_VISIBLE_DEVICES=1" in [remedy.command for remedy in hit.remedies]


def test_sources_that_are_silent_for_the_same_reason_are_one_finding() -> None:
    silent = tuple(source(kind, silence=Silence.NAME, status=None) for kind in SourceKind)
    hits = found(view(around(sources=silent)), "source-silent")

    assert len(hits) == 1
    assert all(kind.value in hits[0].message for kind in SourceKind)
    commands = [remedy.command for remedy in hits[0].remedies]
    assert len(commands) == len(set(commands)) == 5
