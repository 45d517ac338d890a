"""Findings about the driver: its presence, its consistency, and the permissions of this user."""

from __future__ import annotations

from collections.abc import Iterator

from envbuilder.diagnostics.facts.facts import Unseen, known
from envbuilder.diagnostics.facts.host import DeviceNode
from envbuilder.diagnostics.findings import Finding, Remedy, Severity, finding, note, problem, warning
from envbuilder.diagnostics.host.machine_view import MachineView

_MISMATCH = 18
_NO_DEVICE, _NOT_READY, _DIFFERS, _NO_COMPAT, _STUB = 100, 802, 803, 804, 34
_NOTHING_BEHIND = frozenset({"ENXIO", "ENODEV"})
_TO_CPU = "TensorFlow finds no GPU and computes on the processor"
_PASS_GPUS = Remedy(text="start the container with GPUs", command="docker run --gpus all …")
REBOOT = Remedy(text="reboot, to load the module that matches the libraries", command="sudo reboot")
_RELOAD = Remedy(
    text="or reload the module while no program uses the GPU",
    command="sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && sudo modprobe nvidia",
)


def container_without_gpu(view: MachineView) -> Iterator[Finding]:
    """Report a container beside a GPU that it was not given; the kernel's files show the host's driver nevertheless."""
    works = bool(view.gpus) or view.init_code == 0
    given = any(node.present and node.error not in _NOTHING_BEHIND for node in view.nodes)
    if not view.container or works or given or not (view.bus or view.is_module_loaded):
        return
    count = _count(view) if view.bus else "the host has an NVIDIA driver"
    yield problem("container-without-gpu", f"{count}, but this container was given none of it", _TO_CPU, _PASS_GPUS)


def _count(view: MachineView) -> str:
    return f"{len(view.bus)} NVIDIA GPU{'s' if len(view.bus) > 1 else ''} on the PCI bus"


def no_driver(view: MachineView) -> Iterator[Finding]:
    """Report a GPU whose driver is missing or not loaded."""
    if view.container or not view.bus or view.is_module_loaded:
        return
    if view.is_library_there:
        yield problem(
            "driver-not-loaded",
            f"{_count(view)}, the driver's libraries are installed, and its kernel module is not loaded",
            _TO_CPU,
            Remedy(text="load it", command="sudo modprobe nvidia"),
            Remedy(
                text="if that fails, the kernel log has the reason (not built for this kernel, not signed)",
                command="sudo dmesg | tail",
            ),
        )
    else:
        yield problem(
            "no-driver",
            f"{_count(view)}, and no NVIDIA driver",
            _TO_CPU,
            Remedy(
                text="install the driver of your distribution; on Debian", command="sudo apt-get install nvidia-driver"
            ),
        )


def libcuda_missing(view: MachineView) -> Iterator[Finding]:
    """Report a driver without the library that CUDA programs open."""
    if view.interface is None or view.interface.loadable or any(container_without_gpu(view)):
        return
    if not view.gpus and not view.is_module_loaded:
        return
    inside = Remedy(text="request it", command="docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility …")
    yield problem(
        "libcuda-missing",
        f"the driver is there, but not its library for CUDA: {view.interface.error}",
        _TO_CPU,
        inside
        if view.container
        else Remedy(text="install the version of the driver; on Debian", command="sudo apt-get install libcuda1"),
    )


def no_gpu(view: MachineView) -> Iterator[Finding]:
    """Report that there is neither GPU nor driver, which is not a fault."""
    if not view.has_gpu and not view.is_module_loaded and view.host is not None:
        where = " (in a container: if its host has one, `docker run --gpus all`)" if view.container else ""
        seen = f"no NVIDIA GPU here{where}; CPU environments run"
        yield note("no-gpu", seen)


def driver_mismatch(view: MachineView) -> Iterator[Finding]:
    """Report a kernel module and libraries of different releases."""
    nvml, module = view.nvml, view.module
    refused = bool(nvml and nvml.init_code == _MISMATCH) or view.init_code == _DIFFERS
    other = tuple(release for release in view.libraries if module is not None and release != module)
    if not refused and (not other or view.init_code == 0 or any(container_without_gpu(view))):
        return
    have = f"the kernel module is {module}" if module else "the kernel module is of another release"
    libraries = other or view.libraries
    named = f"the libraries are {' and '.join(map(str, libraries))}" if libraries else "the libraries are of another"
    detail = " (NVML: Driver/library version mismatch)" if nvml and nvml.init_code == _MISMATCH else ""
    yield problem(
        "driver-mismatch",
        f"{have}, {named}{detail}: the driver was updated while its old module was loaded",
        "neither nvidia-smi nor CUDA works until they agree",
        REBOOT,
        _RELOAD,
    )


def forward_compatibility(view: MachineView) -> Iterator[Finding]:
    """Report a newer libcuda than the kernel module that works: NVIDIA's cuda-compat."""
    driver, module = known(view.facts.driver), view.module
    library = driver.library if driver else None
    if view.init_code == 0 and module and library and library > module:
        seen = f"libcuda {library} is used with the older kernel module {module} (cuda-compat)"
        yield note(
            "forward-compatibility",
            seen,
            "CUDA of the newer release runs; only data-center GPUs and the branches that it supports",
        )


def nouveau_loaded(view: MachineView) -> Iterator[Finding]:
    """Report that the free driver uses the GPU."""
    modules = view.host.modules if view.host else None
    held = [gpu.bus for gpu in view.bus if gpu.driver == "nouveau"]
    if not held and not (modules and modules.nouveau and not modules.nvidia and view.bus):
        return
    yield problem(
        "nouveau-loaded",
        f"the module nouveau is loaded{' and holds ' + ', '.join(held) if held else ''}",
        "NVIDIA's module cannot have the GPU, and CUDA needs NVIDIA's",
        Remedy(
            text="disable nouveau, then reboot",
            command="printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' | sudo tee"
            " /etc/modprobe.d/blacklist-nouveau.conf && sudo update-initramfs -u && sudo reboot",
        ),
    )


def uvm_missing(view: MachineView) -> Iterator[Finding]:
    """Report the missing module of unified memory, which CUDA needs and nvidia-smi does not."""
    modules, interface = view.host.modules if view.host else None, view.interface
    node = next((node for node in view.nodes if node.path == "/dev/nvidia-uvm"), None)
    if not view.is_module_loaded or not view.gpus or node is None:
        return
    module_missing = bool(modules and not modules.nvidia_uvm)
    node_missing = not node.present or node.error in _NOTHING_BEHIND
    if not module_missing and not node_missing:
        return
    code = view.init_code
    gone = "the module nvidia_uvm is not loaded" if module_missing else "/dev/nvidia-uvm does not exist"
    tail = f": cuInit gives {code} {interface.init_name}".rstrip() if interface and code not in {0, None} else ""
    works = code == 0
    remedy = Remedy(text="load it and create its device node", command="sudo nvidia-modprobe -u -c=0")
    inside = (_PASS_GPUS,) if view.container else ()
    yield finding(
        "uvm-missing",
        Severity.WARNING if works else Severity.PROBLEM,
        f"nvidia-smi sees the GPU, but {gone}{tail}",
        "programs that may not load it themselves fail with CUDA_ERROR_UNKNOWN" if works else _TO_CPU,
        *inside,
        remedy,
    )


def nodes_denied(view: MachineView) -> Iterator[Finding]:
    """Report device nodes that this process may not open."""
    by_mode = [node for node in view.nodes if node.present and node.error == "EACCES"]
    by_rules = [node for node in view.nodes if node.present and node.error == "EPERM"]
    if by_mode:
        modes = ", ".join(f"{node.path} (mode {node.mode})" for node in by_mode)
        yield problem(
            "devices-denied",
            f"this user may not open {modes}",
            _TO_CPU,
            Remedy(text="make them accessible to all users", command=f"sudo chmod 666 {_paths(by_mode)}"),
            Remedy(
                text="or to a group that contains this user (often `video`)", command="sudo usermod -aG video $USER"
            ),
        )
    if by_rules:
        yield problem(
            "devices-withheld",
            f"the mode of {_paths(by_rules, ', ')} would allow it, but the container's device rules forbid it",
            "the container has lost its GPUs, or never had them (after `systemctl daemon-reload` this happens)",
            Remedy(
                text="start the container again, with CDI devices", command="docker run --device nvidia.com/gpu=all …"
            ),
            _PASS_GPUS,
        )


def _paths(nodes: list[DeviceNode], between: str = " ") -> str:
    return between.join(node.path for node in nodes)


def stub_libcuda(view: MachineView) -> Iterator[Finding]:
    """Report the linker's stub in a place where programs search for the driver."""
    on_path = [each.path for each in known(view.facts.libcuda) or () if each.stub]
    loaded = view.interface is not None and (view.interface.stub or view.init_code == _STUB)
    if not on_path and not loaded:
        return
    stubs = ", ".join(dict.fromkeys(on_path or [view.interface.path if view.interface else "libcuda.so.1"]))
    severity = Severity.PROBLEM if loaded else Severity.WARNING
    yield finding(
        "stub-libcuda",
        severity,
        f"{stubs} is the stub for linking, and is on the path where programs look for the driver",
        "CUDA says CUDA_ERROR_STUB_LIBRARY, or that there is no device" if loaded else "",
        Remedy(text="remove its directory from LD_LIBRARY_PATH and /etc/ld.so.conf.d, then `sudo ldconfig`"),
    )


_WORDS = {
    _NO_DEVICE: ("cuda-sees-no-gpu", ()),
    _NOT_READY: (
        "fabric-manager",
        (
            Remedy(
                text="machines with NVSwitch need nvidia-fabricmanager of the driver's release",
                command="sudo systemctl start nvidia-fabricmanager",
            ),
        ),
    ),
    _NO_COMPAT: (
        "compat-refused",
        (Remedy(text="remove cuda-compat from the loader path: this GPU has no forward compatibility"),),
    ),
}


def cuda_does_not_start(view: MachineView) -> Iterator[Finding]:
    """Report that `cuInit` fails although a GPU is present and no other finding explains it."""
    interface = view.interface
    if interface is None or not interface.loadable or interface.stub or not (view.gpus or view.is_module_loaded):
        return
    if interface.init_code in {0, None, _DIFFERS, _STUB} or _is_explained(view):
        return
    name, remedies = _WORDS.get(interface.init_code or 0, ("cuda-does-not-start", ()))
    yield problem(
        name,
        f"cuInit gives {interface.init_code} {interface.init_name}".rstrip(),
        _TO_CPU,
        *remedies,
        Remedy(text="the kernel log may have the reason (NVRM, Xid)", command="sudo dmesg | grep -iE 'nvrm|xid'"),
    )


def _is_explained(view: MachineView) -> bool:
    """Return True if another finding explains why CUDA does not start."""
    others = (driver_mismatch, uvm_missing, nodes_denied, container_without_gpu)
    hidden = view.variable("CUDA_VISIBLE_DEVICES")
    return any(any(other(view)) for other in others) or (hidden is not None and view.init_code == _NO_DEVICE)


def driver_silent(view: MachineView) -> Iterator[Finding]:
    """Report that querying the driver crashed or hung."""
    driver = known(view.facts.driver)
    asked = {"libcuda": driver.interface if driver else None, "NVML": view.facts.nvml}
    for name, fact in asked.items():
        if isinstance(fact, Unseen) and fact.kind in {"Signal", "Timeout", "Exit"}:
            yield problem(
                "driver-silent",
                f"querying {name} failed with {fact.summary}",
                "every program that touches the GPU will end or hang the same way",
                Remedy(text="the kernel log has the reason (NVRM, Xid)", command="sudo dmesg | grep -iE 'nvrm|xid'"),
                REBOOT,
            )


def wsl(view: MachineView) -> Iterator[Finding]:
    """Report the Windows Subsystem for Linux, which uses the driver of Windows."""
    signs = view.host.wsl if view.host else None
    if signs is None or signs.number == 0:
        return
    if signs.number == 1:
        yield warning(
            "wsl-1",
            "this is WSL 1, which has no GPU",
            _TO_CPU,
            Remedy(text="convert it to WSL 2, in Windows", command="wsl --set-version DISTRIBUTION 2"),
        )
        return
    yield from _wsl_2(view)


def _wsl_2(view: MachineView) -> Iterator[Finding]:
    signs, interface = view.host.wsl if view.host else None, view.interface
    path = interface.path if interface and interface.loadable else ""
    if signs and signs.device and not path:
        yield problem(
            "wsl-driver-not-found",
            "WSL 2 with the GPU of Windows, but the loader does not find /usr/lib/wsl/lib/libcuda.so.1",
            _TO_CPU,
            Remedy(
                text="update the loader cache",
                command="echo /usr/lib/wsl/lib | sudo tee /etc/ld.so.conf.d/wsl.conf && sudo ldconfig",
            ),
        )
    elif path and "/wsl/" not in path:
        yield problem(
            "wsl-linux-driver",
            f"WSL 2, and {path} of a Linux driver stands before the one that Windows lends",
            "inside WSL no Linux driver may be installed; its library does not find the GPU",
            Remedy(
                text="remove it from this machine", command="sudo apt-get purge 'libnvidia-compute-*' 'nvidia-driver-*'"
            ),
        )
    else:
        seen = "WSL 2: the driver is that of Windows; update it there"
        effect = "no MIG, no persistence mode, and fewer facts about the GPU" if path else ""
        yield note("wsl-2", seen, effect)


def lent_gpus(view: MachineView) -> Iterator[Finding]:
    """Report GPUs that the host reserves for virtual machines."""
    if view.lent:
        buses = ", ".join(gpu.bus for gpu in view.lent)
        seen = f"reserved for virtual machines ({view.lent[0].driver}), so not for programs here: {buses}"
        yield note("gpu-lent", seen)
