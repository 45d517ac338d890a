"""Commands in images by Apptainer or Singularity: SIF and squashfs files, OCI layouts and archives, registries."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from envbuilder.core.errors import EngineError, UsageError
from envbuilder.core.http.origins import is_loopback
from envbuilder.core.json_fields import parsed, record
from envbuilder.image.builds import EngineInfo, ImageInfo
from envbuilder.image.running.node_runtimes import Program, source_of, written
from envbuilder.oci.layout.singularity_metadata import LABELS_FILE
from envbuilder.oci.registry.addresses import host_of
from envbuilder.oci.runtime.command import (
    Console,
    PublishedPort,
    RunRequest,
    RunResult,
    publishable,
    status_of_failed_start,
)
from envbuilder.oci.runtime.port_relays import connect_on_host, on_shared_network, relayed

PROGRAMS = ("apptainer", "singularity")
_REGISTRY = "docker://"
_DRIVER = "proc/driver/nvidia/version"
_NO_START = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class ApptainerRunner:
    """The installed Apptainer or Singularity, with nothing of the host but its user and what is mounted.

    Attributes:
        root: Root directory of this host.
    """

    program: Program
    work: Path
    root: Path = Path("/")

    def info(self) -> EngineInfo:
        """Return its properties; it has GPUs where the kernel module of the driver is loaded."""
        return EngineInfo(name="apptainer", gpus=(self.root / _DRIVER).exists())

    def image(self, reference: str) -> ImageInfo | None:
        """Return an image with its labels; None if there is no such file and no registry in the name.

        Raises:
            EngineError: Apptainer cannot start it.
        """
        if not Path(reference).exists() and not host_of(reference):
            return None
        shown = self.run(RunRequest(image=reference, command=("/bin/cat", f"/{LABELS_FILE}"), timeout=math.inf))
        found = record(None if shown.status else parsed(shown.stdout))
        labels = sorted((name, value) for name, value in found.items() if isinstance(value, str))
        return ImageInfo(id=reference, labels=tuple(labels))

    def run(self, request: RunRequest) -> RunResult:
        """Run a command in an image.

        Raises:
            UsageError: It requests a user, a CDI device, or GPUs that this host does not have.
            EngineError: Apptainer cannot start the image.
            ToolFailed: Apptainer cannot be started.
        """
        result = self._run(request)
        return result if result.status != _NO_START else _not_started(result, request.image)

    def follow(self, request: RunRequest, console: Console) -> int:
        """Run a command in an image to its end with these standard streams; errors as in `run`."""
        with relayed(_forwarded(request), connect_on_host):
            return self._run(replace(request, timeout=math.inf), console).status

    def _run(self, request: RunRequest, console: Console | None = None) -> RunResult:
        self._refuse(request)
        self.work.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=self.work, prefix="apptainer-") as name:
            folder = Path(name)
            scratch = folder / "scratch"
            scratch.mkdir()
            mounts = (*request.mounts, *written(request.files, folder))
            binds = (*_binds(mounts, ":ro"), *_binds(request.shared, ""))
            options = (*_options(request), "--workdir", str(scratch), *binds)
            source = source_of(request.image)
            image = f"{_REGISTRY}{source}" if not Path(request.image).exists() else source
            arguments = ("--quiet", "exec", *options, image, *request.command)
            more = dict(_variables(request, image))
            return self.program.call(arguments, timeout=request.timeout, console=console, more=more)

    def _refuse(self, request: RunRequest) -> None:
        if request.keep:
            raise UsageError(
                "Apptainer cannot keep changes of an image",
                hint="write files to a --mount, add packages to envbuilder.yaml, or use --engine assemble",
            )
        if request.user:
            raise UsageError("Apptainer runs commands as yourself", hint="omit --user")
        if request.devices:
            raise UsageError(
                "Apptainer gives a container all GPUs of the job, not single CDI devices",
                hint="omit --device, or use --runtime podman",
            )
        if request.gpus and not self.info().gpus:
            raise UsageError(
                f"no GPUs for Apptainer: this host has no NVIDIA driver (/{_DRIVER} does not exist)",
                hint="run it on a node with GPUs; without GPUs: --no-gpus, or `validate --tier cpu`",
            )


def _forwarded(request: RunRequest) -> tuple[PublishedPort, ...]:
    return on_shared_network(publishable(request.ports, has_network=request.network != "none", program="Apptainer"))


def _options(request: RunRequest) -> Iterator[str]:
    """Yield the options that depend on the request: by default, nothing of the host's home, /tmp and variables."""
    yield from ("--cleanenv", "--contain")
    if request.gpus:
        yield "--nv"
    if request.network == "none":
        yield from ("--net", "--network", "none")
    if request.folder:
        yield from ("--pwd", request.folder)


def _variables(request: RunRequest, image: str) -> Iterator[tuple[str, str]]:
    """Yield the environment variables of the program: those of the command, and settings."""
    for prefix in ("APPTAINER", "SINGULARITY"):
        # --env would split values at commas.
        yield from ((f"{prefix}ENV_{key}", value) for key, value in request.env)
        if is_loopback(image.removeprefix(_REGISTRY).partition("/")[0]) and image.startswith(_REGISTRY):
            # A registry on this machine may have no TLS, as for the registry client; its certificate is not verified.
            yield f"{prefix}_NOHTTPS", "1"


def _binds(mounts: tuple[tuple[str, str], ...], mode: str) -> Iterator[str]:
    for source, target in mounts:
        if "," in source + target or ":" in source + target:
            raise UsageError(f"Apptainer cannot mount {source}: its path has a comma or a colon", hint="rename it")
        yield from ("--bind", f"{source}:{target}{mode}")


def _not_started(result: RunResult, image: str) -> RunResult:
    """Return the result of a command that Apptainer cannot execute, as a shell gives it.

    Raises:
        EngineError: The image itself cannot be started.
    """
    fatal_lines = [line for line in result.stderr.decode(errors="replace").splitlines() if line.startswith("FATAL:")]
    if not fatal_lines:
        return result
    message = fatal_lines[-1].removeprefix("FATAL:").strip()
    status = status_of_failed_start(message)
    if status and (message.startswith('"') or "exec " in message):
        return replace(result, status=status)
    raise EngineError(f"Apptainer cannot run {image}: {message}")
