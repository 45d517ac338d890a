"""Commands in images by podman: its own images, OCI layouts and archives, registries."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from envbuilder.core.errors import EngineError, UsageError
from envbuilder.image.builds import EngineInfo, ImageInfo
from envbuilder.image.running.kept_images import KeptImages
from envbuilder.image.running.node_runtimes import SQUASHES, Program, source_of, written
from envbuilder.image.running.podman_keeping import OWN_VARIABLES, PodmanKeeping, last_line
from envbuilder.oci.registry.addresses import host_of
from envbuilder.oci.runtime.cdi import FOLDERS, GPU, has_gpus
from envbuilder.oci.runtime.command import Console, RunRequest, RunResult, bracketed, publishable

ALL_GPUS = f"{GPU}=all"
_FAILED = 125
"""Exit status for errors of podman itself: https://docs.podman.io/en/latest/markdown/podman-run.1.html#exit-status"""
_SECONDS_TO_REMOVE = 30.0
_MOST_LAYERS = 480
"""Its storage allows 500. Source: https://github.com/containers/storage, drivers/overlay/overlay.go (maxDepth)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodmanRunner:
    """The installed podman, as root or rootless.

    Attributes:
        root: Root directory of this host.
        ids: Id of each image that was found.
        kept: Returns the directory for records of kept changes.
    """

    program: Program
    work: Path
    kept: Callable[[], Path]
    root: Path = Path("/")
    ids: dict[str, str] = field(default_factory=dict)

    def info(self) -> EngineInfo:
        """Return its properties; it has GPUs where a CDI specification describes those of NVIDIA."""
        return EngineInfo(name="podman", gpus=has_gpus(self.root))

    def image(self, reference: str) -> ImageInfo | None:
        """Return an image; those in files and registries are copied to podman's storage.

        Raises:
            UsageError: It is a file that podman does not read.
            EngineError: podman cannot read or pull it.
        """
        if reference.endswith(SQUASHES):
            raise UsageError(
                f"podman does not run {reference}", hint="use --runtime apptainer, or write an OCI layout: build -o DIR"
            )
        source = source_of(reference)
        if source != reference or host_of(reference):
            self.ids[reference] = self._pulled(source, reference)
        found = PodmanKeeping(call=self._call, ids=self.ids).described(reference)
        if found is None:
            return None
        self.ids[reference] = found.id
        return replace(found, id=f"sha256:{found.id}")

    def run(self, request: RunRequest) -> RunResult:
        """Run a command in an image.

        Raises:
            UsageError: It requests GPUs, and no CDI specification describes them.
            EngineError: There is no such image, or podman cannot start it.
            ToolFailed: podman cannot be started.
        """
        result = self._run(request)
        if result.status == _FAILED:
            raise EngineError(f"podman cannot run {request.image}: {last_line(result)}")
        return result

    def follow(self, request: RunRequest, console: Console) -> int:
        """Run a command in an image to its end with these standard streams; errors as in `run`.

        Raises:
            UsageError: Its changes cannot be kept as requested.
        """
        endless = replace(request, timeout=math.inf)
        if not request.keep:
            return self._run(endless, console).status

        def start(asked: RunRequest, name: str, folder: Path) -> int:
            with self._files() as files:
                return self._call_run(asked, console, name, files, folder).status

        self._check(request)
        self._known(request)
        kept = KeptImages(engine="podman", most_layers=_MOST_LAYERS, room=self.kept)
        return kept.follow(PodmanKeeping(call=self._call, ids=dict(self.ids)), endless, start)

    def forget(self, container: str, image: str) -> None:
        """Remove a container and an image, as far as they exist: those of kept changes."""
        PodmanKeeping(call=self._call, ids={}).forget(container, image)

    def _run(self, request: RunRequest, console: Console | None = None) -> RunResult:
        self._check(request)
        self._known(request)
        name = f"envbuilder-{uuid.uuid4().hex}"
        with self._files() as folder:
            return self._call_run(request, console, name, folder, None)

    def _check(self, request: RunRequest) -> None:
        if (request.gpus or request.devices) and not self.info().gpus:
            raise UsageError(
                f"no GPUs for podman: no file in /{FOLDERS[0]} or /{FOLDERS[1]} describes {GPU}",
                hint="nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml; "
                "without GPUs: --no-gpus, or `validate --tier cpu`",
            )

    def _known(self, request: RunRequest) -> str:
        """Return the id of the image of a request."""
        if request.image not in self.ids and self.image(request.image) is None:
            raise EngineError(f"podman has no image {request.image}", hint="envbuilder build ENV -o DIR, then run DIR")
        return self.ids[request.image]

    @contextmanager
    def _files(self) -> Iterator[Path]:
        self.work.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=self.work, prefix="podman-") as folder:
            Path(folder).chmod(0o755)
            yield Path(folder)

    def _call_run(
        self, request: RunRequest, console: Console | None, name: str, folder: Path, kept: Path | None
    ) -> RunResult:
        """Call `podman run`; the container is removed afterwards, unless there is a directory for what is kept."""
        mounts = (*request.mounts, *written(request.files, folder))
        volumes = (*_volumes(mounts, ":ro"), *_volumes(request.shared, ""))
        given = (*_options(request), *_streams(console), *volumes, *_home(request, (kept or folder) / "home"))
        remove = () if kept else ("--rm",)
        options = (*remove, "--name", name, "--pull", "never", "--entrypoint", "", *given)

        def end() -> None:
            """A container that has ended cannot be killed, and may be removed already: the result is ignored."""
            self._call(*(("kill",) if kept else ("rm", "--force")), name, timeout=_SECONDS_TO_REMOVE)

        arguments = ("run", *options, self.ids.get(request.image, request.image), *request.command)
        return self.program.call(arguments, timeout=request.timeout, console=console, kill=end)

    def _pulled(self, source: str, reference: str) -> str:
        pulled = self._call("pull", "--quiet", source)
        if pulled.status:
            raise EngineError(f"podman cannot read {reference}: {last_line(pulled)}")
        return pulled.stdout.decode().strip()

    def _call(self, *arguments: str, timeout: float = math.inf) -> RunResult:
        return self.program.call(arguments, timeout=timeout)


def _options(request: RunRequest) -> Iterator[str]:
    for device in request.devices or ((ALL_GPUS,) if request.gpus else ()):
        yield from ("--device", device)
    yield from _user(request)
    if request.gpus or request.shared or request.files:
        # SELinux would deny devices of the driver and directories of the host.
        yield from ("--security-opt", "label=disable")
    if request.network != "default":
        yield from ("--network", request.network)
    for port in publishable(request.ports, has_network=request.network != "none", program="podman"):
        yield from ("--publish", f"{bracketed(port.address)}:{port.host}:{port.container}")
    if request.folder:
        yield from ("--workdir", request.folder)
    yield from _environment(request)


def _environment(request: RunRequest) -> Iterator[str]:
    for name, value in request.env:
        yield from ("--env", f"{name}={value}")
    for name in request.unset:
        if name not in OWN_VARIABLES:
            yield from ("--unsetenv", name)


def _user(request: RunRequest) -> Iterator[str]:
    """Yield the options for the user; podman adds a user of this host to those of the image."""
    caller = request.caller
    if caller and caller.uid:
        # Without it, a rootless podman would map the uid to another one of this host.
        yield from ("--userns", "keep-id")
    if caller:
        yield from ("--user", f"{caller.uid}:{caller.gid}")
    elif request.user:
        yield from ("--user", request.user)


def _home(request: RunRequest, place: Path) -> Iterator[str]:
    """Yield the options for the home directory of a user whom the image does not know.

    podman would use the working directory, which is that of a mount.
    """
    caller = request.caller
    if caller and caller.uid and "HOME" not in dict(request.env):
        home = f"/home/{caller.name or caller.uid}"
        place.mkdir(exist_ok=True)
        yield from ("--env", f"HOME={home}", "--volume", f"{place}:{home}")


def _streams(console: Console | None) -> Iterator[str]:
    if console and (console.terminal or console.given is not None):
        yield "--interactive"
    if console and console.terminal:
        yield "--tty"


def _volumes(mounts: tuple[tuple[str, str], ...], mode: str) -> Iterator[str]:
    for source, target in mounts:
        yield from ("--volume", f"{source}:{target}{mode}")
