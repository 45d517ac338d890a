"""What goes into a container engine and what comes out: builds, pushes and runs, as values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

NO_COMPILER = (
    "choose a version that has a wheel; or build a wheel where there is a compiler, with the Python and the TensorFlow "
    "of the environment, put it on a package index of your own (`sources: index:`), and take the package out of "
    "`source_builds:`. No engine here has a compiler, CMake or a build backend other than setuptools"
)
"""What helps when a source distribution needs more than setuptools; the same for every engine."""


class Builder(StrEnum):
    """Which builder of the engine makes the image."""

    BUILDKIT = "buildkit"
    CLASSIC = "classic"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    """The engine that answers.

    Attributes:
        name: `docker`.
        version: Version of the engine, such as `20.10.24`.
        api: Version of its API.
        storage: Storage driver, such as `overlay2` or `overlayfs` (containerd store).
        gpus: Whether it can hand GPUs to a container (NVIDIA runtime or CDI).
        sessionless_buildkit: Whether `POST /build?version=2` works without a client session.
        root: Folder of its data; empty when it does not tell.
        rootless: Whether it runs without root.
        mirrors: Addresses that it asks before its default registry, in its order.
        context: Name of the Docker context that names it; empty for none.
    """

    name: str
    version: str
    api: str
    storage: str
    gpus: bool
    sessionless_buildkit: bool
    root: str = ""
    rootless: bool = False
    mirrors: tuple[str, ...] = ()
    context: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageInfo:
    """One image as the engine has it.

    Attributes:
        id: `sha256:…` of its configuration (or manifest, with the containerd store).
        tags: `repository:tag`, sorted.
        digests: `repository@sha256:…` under which a registry knows it, sorted.
        diff_ids: `sha256:…` of each uncompressed layer, lowest first.
        labels: Sorted by name.
        size: Bytes of all layers, uncompressed.
    """

    id: str
    tags: tuple[str, ...]
    digests: tuple[str, ...]
    diff_ids: tuple[str, ...]
    labels: tuple[tuple[str, str], ...]
    size: int

    def label(self, name: str) -> str:
        """Value of a label; empty when it is not set."""
        return dict(self.labels).get(name, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """What to build.

    Attributes:
        folder: Rendered folder; its `Dockerfile` is built with the folder as context.
        tags: `repository:tag` to give the image, only when the whole build has succeeded.
        builder: Which builder to use.
        args: Build arguments, sorted by name. Proxy settings belong here: the engine keeps them out of the history.
        network: `host` or `default`.
        use_cache: False builds every step again.
    """

    folder: Path
    tags: tuple[str, ...]
    builder: Builder
    args: tuple[tuple[str, str], ...] = ()
    network: str = "host"
    use_cache: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted:
    """A step of the build begins."""

    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFinished:
    """A step of the build is done.

    Attributes:
        step: Same text as in its `StepStarted`.
        seconds: Its own duration as the engine measured it; 0 when cached.
        cached: Whether the engine took it from its cache.
        error: What went wrong; empty on success.
    """

    step: str
    seconds: float
    cached: bool
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line that a step wrote.

    Attributes:
        step: The step; empty when the engine did not say.
        text: Without line end and without terminal control sequences.
    """

    step: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """Bytes on their way: a layer that is pulled, pushed or exported.

    Attributes:
        item: What is moved.
        current: Bytes so far.
        total: Bytes in all; 0 when unknown.
    """

    item: str
    current: int
    total: int


BuildEvent: TypeAlias = StepStarted | StepFinished | LogLine | Transfer


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildStep:
    """One step of a finished build, in the order in which they started."""

    name: str
    seconds: float
    cached: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLayer:
    """One layer of a built image, lowest first.

    Attributes:
        created_by: Instruction that made it, shortened by nobody.
        size: Bytes, uncompressed.
    """

    created_by: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildResult:
    """A finished build.

    Attributes:
        image: The image.
        layers: Its layers that are not empty, lowest first.
        steps: What the engine did.
        builder: Which builder did it.
        seconds: Wall time of the whole request.
    """

    image: ImageInfo
    layers: tuple[ImageLayer, ...]
    steps: tuple[BuildStep, ...]
    builder: Builder
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PushResult:
    """A finished push.

    Attributes:
        reference: `repository:tag` that was pushed.
        digest: Manifest digest that the registry gave.
        pushed_bytes: Bytes of layers sent, as the engine counted them.
        pushed_layers: Layers sent.
        present_layers: Layers that the registry had already.
        seconds: Wall time.
    """

    reference: str
    digest: str
    pushed_bytes: int
    pushed_layers: int
    present_layers: int
    seconds: float


Output: TypeAlias = Callable[[int, bytes], None]
"""Gets the stream, 1 for standard output and 2 for standard error, and a piece of what a command writes to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One command in a new container that is removed afterwards.

    Attributes:
        image: Image reference or id.
        command: Program and arguments; replaces entry point and command of the image.
        files: `(absolute path in the container, content)` put there before it starts; readable by everybody.
        mounts: `(path on this host, path in the container)`, read-only.
        env: Environment variables, sorted by name.
        gpus: Ask the engine for all GPUs.
        devices: CDI devices to ask for instead, such as `nvidia.com/gpu=0`.
        network: `none`, `host` or `default`.
        user: Account to run as; empty means that of the image.
        timeout: Seconds after which the container is killed.
        copy_out: Absolute path of one file in the container to read when the command has ended; empty for none.
        shared: `(path on this host, path in the container)` that the command can change.
        folder: Where the command starts; empty means where the image says.
    """

    image: str
    command: tuple[str, ...]
    files: tuple[tuple[str, bytes], ...] = ()
    mounts: tuple[tuple[str, str], ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    gpus: bool = False
    devices: tuple[str, ...] = ()
    network: str = "none"
    user: str = ""
    timeout: float = 600.0
    copy_out: str = ""
    shared: tuple[tuple[str, str], ...] = ()
    folder: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How a container ended.

    Attributes:
        status: Exit status; 137 when it was killed.
        stdout: What it wrote, as bytes.
        stderr: Likewise.
        timed_out: Whether it was killed because its time was up.
        copied: Content of `copy_out`; None when there was no such file.
    """

    status: int
    stdout: bytes
    stderr: bytes
    timed_out: bool
    copied: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """An assembled image that an engine has now.

    Attributes:
        image: The image as the engine has it.
        sent_bytes: Bytes of layers that were sent.
        sent_layers: Layers that were sent.
        present_layers: Layers that the engine had already.
    """

    image: ImageInfo
    sent_bytes: int
    sent_layers: int
    present_layers: int
