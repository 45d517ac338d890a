"""GPUs of this host for commands without a container engine."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.errors import ToolFailed, UsageError
from envbuilder.oci.runtime.cdi import FOLDERS, GPU, edits_of, has_gpus
from envbuilder.oci.runtime.host_devices import DeviceEdits
from envbuilder.oci.runtime.processes import wait_for

_PROGRAM = "nvidia-container-cli"
_DRIVER = "proc/driver/nvidia/version"
_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HostGpus:
    """GPUs by specifications of the Container Device Interface, else by `nvidia-container-cli`.

    Attributes:
        root: Root directory of this host.
        search_path: Directories to search for programs, as in PATH.
    """

    root: Path
    search_path: str

    def available(self) -> bool:
        """Return True if there are any."""
        return has_gpus(self.root) or bool(self._program())

    def edits(self, devices: tuple[str, ...]) -> DeviceEdits:
        """Return what a command needs for them.

        Args:
            devices: CDI devices; empty for all GPUs.

        Raises:
            UsageError: This host does not describe them, or needs something that is not supported.
            InvalidInput: A specification is malformed.
            ToolFailed: `nvidia-container-cli` fails.
        """
        if devices or has_gpus(self.root):
            return edits_of(devices, self.root).placed()
        if program := self._program():
            return _listed(program).placed()
        raise UsageError(
            f"no GPUs for a command without a container engine: no file in /{FOLDERS[0]} or /{FOLDERS[1]} describes "
            f"{GPU}, and there is no driver with {_PROGRAM}",
            hint="nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml, or use --engine docker; without GPUs: "
            "--no-gpus, or `validate --tier cpu`",
        )

    def _program(self) -> str:
        """Return the path of the program; empty if it or the driver is missing."""
        found = shutil.which(_PROGRAM, path=self.search_path)
        return found if found and (self.root / _DRIVER).exists() else ""


def _listed(program: str) -> DeviceEdits:
    """Return the device nodes and files that the program lists, all at the same paths as on this host."""
    ended = wait_for((program, "list"), timeout=_SECONDS, environ={"PATH": os.defpath})
    if ended.status:
        message = ended.stderr.decode(errors="replace").strip()
        raise ToolFailed(f"{program} list exited with status {ended.status}: {message}", hint="check it: nvidia-smi")
    paths = [line for line in ended.stdout.decode(errors="replace").splitlines() if line.startswith("/")]
    return DeviceEdits(
        nodes=tuple((path, path) for path in paths if path.startswith("/dev/")),
        mounts=tuple((path, path) for path in paths if not path.startswith("/dev/")),
    )
