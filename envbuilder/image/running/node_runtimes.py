"""Runtimes on nodes of a cluster, which need no daemon: their names, and the parts that all of them share."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from envbuilder.core.errors import ToolFailed, ToolMissing
from envbuilder.oci.runtime.command import Console, RunResult
from envbuilder.oci.runtime.processes import nothing_more, wait_for

SQUASHES = (".sif", ".sqsh", ".squashfs", ".sqfs")
"""Suffixes of files that are a root file system for Apptainer."""

_ARCHIVE = ".tar"


class NodeRuntime(StrEnum):
    """A program that runs images on a node."""

    APPTAINER = "apptainer"
    PODMAN = "podman"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """An installed program."""

    path: str
    environ: Mapping[str, str]

    def call(
        self,
        arguments: Sequence[str],
        *,
        timeout: float,
        kill: Callable[[], object] = nothing_more,
        more: Mapping[str, str] | None = None,
        console: Console | None = None,
    ) -> RunResult:
        """Run it to its end.

        Args:
            arguments: Its arguments.
            timeout: Seconds after which it is killed; may be infinite.
            kill: Kills what the program has started elsewhere.
            more: Further variables.
            console: Its standard streams; None to keep the output.

        Raises:
            ToolFailed: It cannot be started.
        """
        command, environ = (self.path, *arguments), {**self.environ, **(more or {})}
        try:
            return wait_for(command, timeout=timeout, environ=environ, kill=kill, console=console)
        except OSError as error:
            raise ToolFailed(f"{self.path} cannot be started: {error}") from error


def find_program(names: Sequence[str], environ: Mapping[str, str]) -> Program:
    """Return the first program that is installed.

    Raises:
        ToolMissing: None is.
    """
    for name in names:
        path = shutil.which(name, path=environ.get("PATH", os.defpath))
        if path:
            return Program(path=path, environ=environ)
    raise ToolMissing(f"{' or '.join(names)} is not installed", hint=f"install {names[0]}, or use --engine docker")


def source_of(image: str) -> str:
    """Return an image in the notation of containers/image, which Apptainer and podman share.

    Args:
        image: A directory with an OCI layout, an OCI archive, another file, or a name.

    Returns:
        `oci:PATH`, `oci-archive:PATH`, or the same text.
    """
    path = Path(image)
    if path.is_dir() and (path / "oci-layout").is_file():
        return f"oci:{image}"
    return f"oci-archive:{image}" if path.is_file() and path.suffix == _ARCHIVE else image


def written(files: Sequence[tuple[str, bytes]], folder: Path) -> tuple[tuple[str, str], ...]:
    """Write files of a request into a directory of this host; return path on this host and in the container."""
    mounts = []
    for number, (path, content) in enumerate(files):
        file = folder / f"{number}"
        file.write_bytes(content)
        file.chmod(0o644)
        mounts.append((str(file), path))
    return tuple(mounts)
