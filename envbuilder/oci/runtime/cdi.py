"""Devices of this host by specifications of the Container Device Interface (CDI).

Source: https://github.com/cncf-tags/container-device-interface/blob/v0.8.0/SPEC.md; hooks: `nvidia-ctk hook --help` of
https://github.com/NVIDIA/nvidia-container-toolkit/tree/v1.17.0/cmd/nvidia-cdi-hook. Everything that a specification can
ask for is applied, or refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from envbuilder.core.errors import UsageError
from envbuilder.core.field_rules import At, Entries
from envbuilder.core.yaml.documents import read
from envbuilder.core.yaml.structured import structured
from envbuilder.oci.runtime.host_devices import DeviceEdits

GPU = "nvidia.com/gpu"
FOLDERS = ("etc/cdi", "var/run/cdi")
"""In the order of precedence: a device of a later directory replaces one of an earlier."""

_SUFFIXES = (".json", ".yaml", ".yml")
_HOOK_PROGRAMS = ("nvidia-cdi-hook", "nvidia-ctk")
_CREATE_LINKS, _UPDATE_CACHE = "create-symlinks", "update-ldcache"
_NEEDLESS = ("chmod", "disable-device-node-modification", "enable-cuda-compat", "update-nvidia-params")
"""Hooks without effect here: directories of devices are open to all users, a command cannot make device nodes, and
images of the catalog have no other libcuda than that of the host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Node:
    """A device node; numbers and modes are those of the node on this host."""

    path: str
    host_path: Annotated[str, At("hostPath")] = ""
    type: str = ""
    major: int = 0
    minor: int = 0
    mode: Annotated[int, At("fileMode")] = 0
    permissions: str = ""
    uid: int = 0
    gid: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mount:
    host_path: Annotated[str, At("hostPath")]
    container_path: Annotated[str, At("containerPath")]
    options: tuple[str, ...] = ()
    type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hook:
    name: Annotated[str, At("hookName")]
    path: str
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    timeout: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edits:
    env: tuple[str, ...] = ()
    nodes: Annotated[tuple[_Node, ...], At("deviceNodes")] = ()
    mounts: tuple[_Mount, ...] = ()
    hooks: tuple[_Hook, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Device:
    name: str
    edits: Annotated[_Edits, At("containerEdits")]
    annotations: Annotated[tuple[tuple[str, str], ...], Entries()] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Specification:
    version: Annotated[str, At("cdiVersion")]
    kind: str
    devices: tuple[_Device, ...] = ()
    edits: Annotated[_Edits, At("containerEdits")] = _Edits()
    annotations: Annotated[tuple[tuple[str, str], ...], Entries()] = ()


def has_gpus(root: Path) -> bool:
    """Return True if a specification of this host describes GPUs of NVIDIA."""
    return any(GPU in file.read_text(encoding="utf-8", errors="replace") for file in _files(root))


def edits_of(names: Sequence[str], root: Path) -> DeviceEdits:
    """Return the device nodes, mounts and variables that a container needs for devices.

    Args:
        names: Fully qualified, such as `nvidia.com/gpu=0`; empty for all GPUs.
        root: Root directory of this host.

    Raises:
        UsageError: No specification has a device, or one asks for something that is not supported.
        InvalidInput: A specification is malformed, or has a field that is unknown here.
    """
    found: dict[str, tuple[Path, _Specification, _Device]] = {}
    for file in _files(root):
        specification = structured(_Specification, read(file.read_text("utf-8", "replace"), str(file)), str(file))
        for device in specification.devices:
            found[f"{specification.kind}={device.name}"] = (file, specification, device)
    wanted = names or _all_gpus(found)
    missing = [name for name in wanted if name not in found]
    if missing or not wanted:
        known = ", ".join(sorted(found)) or "none"
        raise UsageError(
            f"no CDI device {', '.join(missing) or GPU} on this host; devices: {known}",
            hint="nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
        )
    parts: dict[tuple[Path, str], tuple[Path, _Edits]] = {}
    for name in wanted:
        file, specification, device = found[name]
        parts[file, ""] = (file, specification.edits)
        parts[file, name] = (file, device.edits)
    merged = DeviceEdits()
    for file, edits in parts.values():
        merged = merged.with_more(_supported(edits, file, root))
    return merged


def _all_gpus(found: dict[str, tuple[Path, _Specification, _Device]]) -> tuple[str, ...]:
    every = tuple(sorted(name for name in found if name.startswith(f"{GPU}=")))
    return (f"{GPU}=all",) if f"{GPU}=all" in every else every


def _files(root: Path) -> Iterator[Path]:
    for folder in FOLDERS:
        for file in sorted((root / folder).glob("*")):
            if file.suffix in _SUFFIXES and file.is_file():
                yield file


def _supported(edits: _Edits, file: Path, root: Path) -> DeviceEdits:
    links = [value.partition("::") for hook in edits.hooks for value in _links(hook, file)]
    return DeviceEdits(
        env=tuple(_variable(text, file) for text in edits.env),
        nodes=tuple(_node(node, file, root) for node in edits.nodes),
        mounts=tuple(_mount(mount, file, root) for mount in edits.mounts),
        links=tuple((target, link) for target, _, link in links),
    )


def _links(hook: _Hook, file: Path) -> tuple[str, ...]:
    """Return the links that a hook makes, as `TARGET::PATH`.

    The cache of libraries needs no update, since all of them are in one directory.
    """
    words = [word for word in hook.args[1:] if word != "hook"]
    action = words[0] if words else ""
    if hook.name != "createContainer" or Path(hook.path).name not in _HOOK_PROGRAMS:
        raise _refusal(file, f"the hook {hook.name} {hook.path}")
    if action not in {_CREATE_LINKS, _UPDATE_CACHE, *_NEEDLESS}:
        raise _refusal(file, f"the hook {Path(hook.path).name} {action}")
    return tuple(word.removeprefix("--link=") for word in words[1:] if "::" in word and action == _CREATE_LINKS)


def _variable(text: str, file: Path) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise _refusal(file, f"the variable {text!r}")
    return name, value


def _node(node: _Node, file: Path, root: Path) -> tuple[str, str]:
    source = root / (node.host_path or node.path).lstrip("/")
    if not node.path.startswith("/dev/") or ".." in Path(node.path).parts:
        raise _refusal(file, f"the device node {node.path} outside /dev")
    if not source.exists():
        raise UsageError(f"{file}: the device node {source} does not exist", hint="load the driver: nvidia-smi")
    return str(source), node.path


def _mount(mount: _Mount, file: Path, root: Path) -> tuple[str, str]:
    if mount.type not in {"", "bind", "none"}:
        raise _refusal(file, f"a mount of type {mount.type}")
    if "rw" in mount.options:
        raise _refusal(file, f"the writable mount {mount.host_path}")
    source = root / mount.host_path.lstrip("/")
    if not source.exists():
        raise UsageError(
            f"{file}: {source} does not exist",
            hint="the driver was updated: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
        )
    return str(source), mount.container_path


def _refusal(file: Path, what: str) -> UsageError:
    return UsageError(
        f"{file}: {what} is not supported without a container engine", hint="use --engine docker, or --runtime podman"
    )
