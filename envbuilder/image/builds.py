"""What goes into a container engine and what comes out: builds, pushes and runs, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from envbuilder.oci.transfers import Transfer

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
