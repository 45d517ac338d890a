"""Requests to a container engine and their results: builds, pushes and runs, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from envbuilder.core.json_fields import Record, number, record, text, texts
from envbuilder.oci.transfers import Transfer

BUILD_HINT = (
    "choose a version that has a wheel; or name what its build needs: OS packages, such as `g++` and `python3-dev`, "
    "under `build_tools:`, Python packages, such as its build backend, under `build_requires:`; then run "
    "`envbuilder lock`"
)
"""Hint for a source distribution that cannot be built; the same for every engine."""


class Builder(StrEnum):
    """The builder of the engine that makes the image."""

    BUILDKIT = "buildkit"
    CLASSIC = "classic"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineInfo:
    """A container engine and its properties.

    Attributes:
        name: `docker`.
        storage: Storage driver, such as `overlay2` or `overlayfs` (containerd store).
        gpus: True if it can give GPUs to a container (NVIDIA runtime or CDI).
        sessionless_buildkit: True if `POST /build?version=2` works without a client session.
        root: Directory of its data; empty if it does not report it.
        mirrors: Mirrors of its default registry, in order.
        context: Name of the Docker context that names it; empty for none.
    """

    name: str
    version: str = ""
    api: str = ""
    storage: str = ""
    gpus: bool
    sessionless_buildkit: bool = False
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
        digests: `repository@sha256:…` by which a registry has it, sorted.
        diff_ids: `sha256:…` of each uncompressed layer, lowest first.
        labels: Sorted by name.
        size: Bytes of all layers, uncompressed.
        env: Variables, as listed.
        user: Its user; empty for root.
        folder: Its working directory; empty for `/`.
    """

    id: str
    tags: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    diff_ids: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...]
    size: int = 0
    env: tuple[tuple[str, str], ...] = ()
    user: str = ""
    folder: str = ""

    def label(self, name: str) -> str:
        """Return the value of a label; empty if it is not set."""
        return dict(self.labels).get(name, "")


def image_info(inspected: Record) -> ImageInfo:
    """Return an image from its inspect document, which Docker and podman write alike."""
    labels = record(inspected, "Config", "Labels")
    pairs = (entry.partition("=") for entry in texts(inspected, "Config", "Env"))
    return ImageInfo(
        id=text(inspected, "Id"),
        tags=tuple(sorted(texts(inspected, "RepoTags"))),
        digests=tuple(sorted(texts(inspected, "RepoDigests"))),
        diff_ids=texts(inspected, "RootFS", "Layers"),
        labels=tuple(sorted((name, text(labels, name)) for name in labels)),
        size=number(inspected, "Size"),
        env=tuple((name, value) for name, _, value in pairs),
        user=text(inspected, "Config", "User"),
        folder=text(inspected, "Config", "WorkingDir"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """A directory to build, with the options of the engine.

    Attributes:
        folder: Rendered directory; its `Dockerfile` is built with the directory as context.
        tags: `repository:tag` to give the image, only when the whole build has succeeded.
        args: Build arguments, sorted by name. Proxy settings belong here: the engine keeps them out of the history.
        use_cache: False builds every step again.
    """

    folder: Path
    tags: tuple[str, ...]
    builder: Builder
    args: tuple[tuple[str, str], ...] = ()
    use_cache: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted:
    """The start of a build step."""

    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFinished:
    """The end of a build step.

    Attributes:
        step: Same text as in its `StepStarted`.
        seconds: Its own duration as the engine measured it; 0 when cached.
        cached: True if the engine took it from its cache.
        error: Error message; empty on success.
    """

    step: str
    seconds: float
    cached: bool
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutput:
    """One line that a step wrote.

    Attributes:
        step: The step; empty if the engine did not report it.
        text: Without line end and without terminal control sequences.
    """

    step: str
    text: str


BuildEvent: TypeAlias = StepStarted | StepFinished | StepOutput | Transfer


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
        created_by: Instruction that made it, in full.
        size: Bytes, uncompressed.
    """

    created_by: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildResult:
    """A finished build.

    Attributes:
        layers: Its layers that are not empty, lowest first.
        seconds: Wall time of the whole request.
    """

    image: ImageInfo
    layers: tuple[ImageLayer, ...]
    steps: tuple[BuildStep, ...]
    builder: Builder
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    """An assembled image that was loaded into an engine.

    Attributes:
        present_layers: Layers that the engine had before.
    """

    image: ImageInfo
    sent_bytes: int
    sent_layers: int
    present_layers: int
