"""Findings about environment variables with undesired effects."""

from __future__ import annotations

from collections.abc import Iterator

from envbuilder.core.units import size
from envbuilder.diagnostics.facts.facts import Seen, known
from envbuilder.diagnostics.findings import Finding, Remedy, Severity, finding, note, problem, warning
from envbuilder.diagnostics.host.machine_view import MachineView

_VISIBLE = "CUDA_VISIBLE_DEVICES"
_SHOW_ALL = Remedy(text="show all GPUs", command=f"unset {_VISIBLE}")
_NONE = frozenset({"void", "none", ""})
_SETTINGS = (
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_GPU_ALLOCATOR",
    "XLA_FLAGS",
    "TF_XLA_FLAGS",
    "NVIDIA_TF32_OVERRIDE",
    "TF_USE_LEGACY_KERAS",
    "KERAS_BACKEND",
    "TF_ENABLE_ONEDNN_OPTS",
    "CUDA_MODULE_LOADING",
)
_SMALL_CACHE = 256 << 20
"""The driver's default before CUDA 12. Source: CUDA programming guide, environment variables."""


def visible_devices(view: MachineView) -> Iterator[Finding]:
    """Report a CUDA_VISIBLE_DEVICES that hides GPUs, or names missing ones."""
    value = view.variable(_VISIBLE)
    if value is None or not view.has_gpu:
        return
    entries = [entry.strip() for entry in value.split(",")]
    shown = _shown(view, entries)
    if not value.strip() or entries[0] == "-1":
        yield _hidden(f"{_VISIBLE}={value!r} hides every GPU", "programs started from here compute on the processor")
    elif shown == 0:
        yield _hidden(f"{_VISIBLE}={value} names no GPU of this machine{_have(view)}", "CUDA says: no device")
    elif shown is not None and shown < len(entries):
        yield warning(
            "visible-devices-cut",
            f"{_VISIBLE}={value}: {entries[shown]!r} is not a GPU of this machine{_have(view)}",
            "CUDA ignores it and all entries after it",
            _SHOW_ALL,
            Remedy(text="list the available GPUs", command="nvidia-smi -L"),
        )


def _hidden(seen: str, effect: str) -> Finding:
    return problem("visible-devices-none", seen, effect, _SHOW_ALL)


def _have(view: MachineView) -> str:
    return f" (it has {len(view.gpus)})" if view.gpus else ""


def _shown(view: MachineView, entries: list[str]) -> int | None:
    """Return the number of entries that CUDA accepts before the first unknown one; None if unknown."""
    if not view.gpus or any(gpu.mig for gpu in view.gpus):
        return None
    names = [gpu.uuid or "" for gpu in view.gpus]
    for position, entry in enumerate(entries):
        by_number = entry.isascii() and entry.isdigit() and int(entry) < len(view.gpus)
        by_name = len(entry) > 4 and any(name.startswith(entry) for name in names)
        if not by_number and not by_name:
            return position
    return len(entries)


def nvidia_visible_devices(view: MachineView) -> Iterator[Finding]:
    """Report a container that requests no GPU from NVIDIA's runtime."""
    value = view.variable("NVIDIA_VISIBLE_DEVICES")
    if view.container and value is not None and value in _NONE and not view.gpus:
        yield finding(
            "container-asks-for-no-gpu",
            Severity.WARNING if view.bus else Severity.NOTE,
            f"NVIDIA_VISIBLE_DEVICES={value!r}: this container requests no GPU",
            "the NVIDIA runtime mounts neither devices nor driver libraries",
            Remedy(text="start it with GPUs", command="docker run --gpus all …"),
        )


def driver_capabilities(view: MachineView) -> Iterator[Finding]:
    """Report a container that gets only some of the driver's libraries."""
    value = view.variable("NVIDIA_DRIVER_CAPABILITIES")
    if not value or not view.container or not (view.has_gpu or view.is_module_loaded):
        return
    asked = {entry.strip() for entry in value.split(",")}
    missing = [] if "all" in asked else [name for name in ("compute", "utility") if name not in asked]
    if missing:
        no_cuda = "compute" in missing
        yield finding(
            "driver-capabilities",
            Severity.PROBLEM if no_cuda else Severity.NOTE,
            f"NVIDIA_DRIVER_CAPABILITIES={value} leaves out {' and '.join(missing)}",
            "libcuda.so.1 is not in the container" if no_cuda else "nvidia-smi and NVML are not in the container",
            Remedy(text="request both", command="docker run -e NVIDIA_DRIVER_CAPABILITIES=compute,utility …"),
        )


def foreign_libraries(view: MachineView) -> Iterator[Finding]:
    """Report CUDA libraries that LD_LIBRARY_PATH puts before those of an environment."""
    value = view.variable("LD_LIBRARY_PATH") or (view.interpreter.ld_library_path if view.interpreter else "")
    loads = known(view.facts.libraries) or ()
    found = [
        f"{library.soname} {library.load.value.version or ''}".rstrip()
        for library in loads
        if isinstance(library.load, Seen) and library.load.value.via == "LD_LIBRARY_PATH"
    ]
    if value and found:
        yield warning(
            "foreign-cuda-libraries",
            f"LD_LIBRARY_PATH contains {', '.join(found)}",
            "a bare environment loads these before its own, of another release than it was locked with;"
            " images do not see them",
            Remedy(text="remove them from the path", command="unset LD_LIBRARY_PATH"),
        )


def memory_settings(view: MachineView) -> Iterator[Finding]:
    """Report variables that change TensorFlow's use of GPU memory."""
    found = [f"{name}={view.variable(name)}" for name in _SETTINGS if view.variable(name) is not None]
    if found:
        yield note(
            "settings-in-force",
            ", ".join(found),
            "set for programs started from here: two machines that differ in these behave differently",
        )


def no_kernel_cache(view: MachineView) -> Iterator[Finding]:
    """Report a cache for compiled kernels that is too small for those of TensorFlow."""
    value = view.variable("CUDA_CACHE_MAXSIZE")
    if value and value.isascii() and value.isdigit() and int(value) < _SMALL_CACHE:
        yield warning(
            "kernel-cache-small",
            f"CUDA_CACHE_MAXSIZE={value}: the driver keeps at most {size(int(value))} of compiled kernels",
            "environments that need JIT compile again at every start, for minutes",
            Remedy(text="set it to 4 GiB, the maximum", command="export CUDA_CACHE_MAXSIZE=4294967296"),
        )
