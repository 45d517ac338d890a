"""The port to an engine of `build`: requests, options and results. Each engine is a file of its own.

A further engine is a class with the method of `ImageBuilder`, a name in `Engine`, and a line in `wiring.engines`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from envbuilder.core.references import repository_of
from envbuilder.image.builds import Builder, BuildStep, LoadResult
from envbuilder.image.container_engine import Listener
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest
from envbuilder.oci.images import LayerFormat
from envbuilder.oci.transfers import PushResult

_TAG_DIGITS = 12


class Engine(StrEnum):
    """The engine that makes an image, or has it; `auto` selects the first available one."""

    AUTO = "auto"
    DOCKER = "docker"
    ASSEMBLE = "assemble"


class Feature(StrEnum):
    """A feature that only some engines support, named by its option of `build`."""

    OUTPUT = "--output"
    LOAD = "--load"
    OFFLINE = "--offline"
    BUNDLE = "--bundle"
    CACHE_FROM = "--cache-from"
    CACHE_TO = "--cache-to"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRequest:
    """One image to build.

    Attributes:
        names: `repository:tag` of the image.
    """

    lock: Lock
    sources: Sources
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """Options of a build, for every engine; an option that an engine does not support is a `Feature`, or has no effect.

    Attributes:
        push: Push every name to its registry.
        builder: Docker's builder; None lets the engine decide: BuildKit where it is available.
        use_cache: False builds every layer of a Dockerfile again.
        output: Directory (OCI layout), `.tar`, `.sqsh` or `.sif` to write; None for none.
        attestations: Also write bill of materials and provenance into a layout or archive.
        load: Load an assembled image into the container engine.
        layer_format: Format of assembled layers.
        jobs: Maximum number of layers assembled at once; 0 means one for each processor.
        offline: Refuse to download anything.
        cache_from: Repositories with layers, as `HOST/NAME`; empty for those of the sources.
        cache_to: Repository that receives the layers; empty for none.
    """

    push: bool = False
    builder: Builder | None = None
    use_cache: bool = True
    output: Path | None = None
    attestations: bool = False
    load: bool = False
    layer_format: LayerFormat = LayerFormat.GZIP_SPLICED
    jobs: int = 0
    offline: bool = False
    cache_from: tuple[str, ...] = ()
    cache_to: str = ""

    @property
    def features(self) -> frozenset[Feature]:
        """Features that the engine has to support."""
        asked = {
            Feature.OUTPUT: self.output is not None,
            Feature.LOAD: self.load,
            Feature.OFFLINE: self.offline,
            Feature.CACHE_FROM: bool(self.cache_from),
            Feature.CACHE_TO: bool(self.cache_to),
        }
        return frozenset(feature for feature, is_asked in asked.items() if is_asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """Destinations that received an image, beside the engine or the store that made it.

    Attributes:
        output: Path that was written; None for none.
        loaded: Result of loading it into the container engine; None if that was not requested.
    """

    output: Path | None = None
    loaded: LoadResult | None = None
    pushes: tuple[PushResult, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRun:
    """The steps and the duration of a build; images that were built together share it.

    Attributes:
        steps: In the order in which they began.
        seconds: Wall time.
        builder: Builder of the engine; empty for an engine that has only one.
        downloaded: Bytes that were downloaded; None for an engine that does not count them.
    """

    steps: tuple[BuildStep, ...]
    seconds: float
    builder: str = ""
    downloaded: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltLayer:
    """One layer of an image.

    Attributes:
        size: Bytes: packed where the digest is known, else as the engine counts them.
        id: Name of the layer in the plan; empty for an engine with layers of its own.
        digest: Digest of the packed layer; empty when the engine keeps none.
        diff_id: Digest of its content; empty likewise.
        made: True if it was made by this build; None if the engine does not report it.
    """

    title: str
    size: int
    id: str = ""
    digest: str = ""
    diff_id: str = ""
    made: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltImage:
    """One image that was built.

    Attributes:
        lock: Its lock, with the digests of the image where the engine computes them.
        names: `repository:tag` of the image.
        id: Digest of its configuration; of its manifest in an engine with the containerd store.
        manifest: Digest of its manifest; empty if only a registry makes one.
        size: Bytes of all layers, as those of the layers are counted.
        layers: Lowest first; empty ones are left out.
        notes: Messages for the user.
        is_here: False if layers are in the registry only, so that it cannot be run from this machine's cache.
    """

    lock: Lock
    names: tuple[str, ...]
    id: str
    manifest: str = ""
    size: int
    layers: tuple[BuiltLayer, ...]
    run: BuildRun
    delivered: Delivered
    notes: tuple[str, ...] = ()
    is_here: bool = True


class ImageBuilder(Protocol):
    """An engine of `build`."""

    def build(
        self, requests: Sequence[ImageRequest], options: BuildOptions, listener: Listener
    ) -> tuple[BuiltImage, ...]:
        """Build images from the pins of their locks only, and only on the base of the lock.

        Returns:
            Shape: one image for each request, in their order.

        Raises:
            EngineUnavailable: The engine needs a daemon, and none answers.
            SourceUnreachable: A base, archive, index or registry cannot be reached.
            VerificationFailed: A file does not match the lock.
            BuildFailed: A step failed.
            ToolFailed: The image's interpreter cannot be run here.
            DiskFull: There is no room.
        """
        ...


def default_names(lock: Lock) -> tuple[str, ...]:
    """Return `envbuilder/NAME` as `latest` and by the digest of the lock; NAME is that of the lock, or of its row."""
    short = digest(lock).removeprefix("sha256:")[:_TAG_DIGITS]
    repository = repository_of(lock.name or lock.environment)
    return (f"{repository}:latest", f"{repository}:{short}")
