"""The ports to a container engine: who uses an engine asks for those that it needs.

Every method raises `EngineUnavailable` when no engine answers, `EngineLost` when it stops answering in the middle, and
`DiskFull` when it runs out of space.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeAlias

from envbuilder.core.references import ImageRef
from envbuilder.image.builds import BuildEvent, BuildRequest, BuildResult, EngineInfo, ImageInfo, LoadResult
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.runtime.command import Console, RunRequest, RunResult
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import PushResult

Listener: TypeAlias = Callable[[BuildEvent], None]


class EngineState(Protocol):
    """Properties of an engine."""

    def info(self) -> EngineInfo:
        """Return the properties of the engine."""
        ...


class EngineImages(Protocol):
    """Names of images in an engine."""

    def image(self, reference: str) -> ImageInfo | None:
        """Return the image with this reference or id; None if the engine has none. Never pulls."""
        ...

    def tag(self, image_id: str, reference: ImageRef) -> None:
        """Add a name to an image."""
        ...

    def untag(self, reference: str) -> None:
        """Remove a name of an image; the engine deletes an image without any other name."""
        ...


class EngineRegistry(Protocol):
    """Registries as an engine reaches them, with its credentials and proxy."""

    def registry_digest(self, reference: ImageRef) -> str:
        """Return the manifest digest that a registry has for a reference, without pulling.

        Raises:
            SourceUnreachable: The registry does not answer, or has no such image.
        """
        ...

    def pull(self, reference: ImageRef, listener: Listener) -> ImageInfo:
        """Fetch an image by tag or digest.

        Raises:
            SourceUnreachable: The registry does not answer, or has no such image.
        """
        ...

    def push(self, reference: ImageRef, listener: Listener) -> PushResult:
        """Push a tagged image to the registry of its name.

        Raises:
            SourceUnreachable: The registry does not answer or refuses.
        """
        ...


class EngineArchives(Protocol):
    """Images that an engine takes from files, and writes into them."""

    def load(self, archive: Path) -> ImageInfo:
        """Load an image from a `docker save` archive that holds exactly one."""
        ...

    def load_image(self, image: AssembledImage, store: Store, tags: tuple[str, ...]) -> LoadResult:
        """Load an assembled image; only the layers that the engine lacks are sent.

        Args:
            image: The image.
            store: Contains its layers; they are verified. Attachments of the image are not loaded.
            tags: `repository:tag` that it gets after it was loaded and verified; may be empty.

        Raises:
            VerificationFailed: The loaded image is a different one, or a layer is damaged or missing from the store.
        """
        ...

    def save(self, reference: str, archive: Path) -> None:
        """Write an image into a `docker save` archive, for `load`.

        Raises:
            EngineError: There is no such image.
            DiskFull: There is no room.
        """
        ...


class EngineBuilds(Protocol):
    """Builds of rendered directories by an engine."""

    def build(self, request: BuildRequest, listener: Listener) -> BuildResult:
        """Build a rendered directory; cancels the build in the engine when interrupted (`KeyboardInterrupt`).

        Raises:
            BuildFailed: A step failed; carries its name and the end of its output.
            SourceUnreachable: A base or package source did not answer.
            VerificationFailed: A fetched file does not match its digest.
        """
        ...


class EngineRuns(Protocol):
    """Commands in new containers of an engine."""

    def run(self, request: RunRequest) -> RunResult:
        """Run a command in a new container, and remove the container in any case."""
        ...

    def follow(self, request: RunRequest, console: Console) -> int:
        """Run a command in a new container without time limit; its `timeout` and `copy_out` are ignored.

        Returns:
            Its exit status; 127 and 126 if it cannot be started, as in a shell.

        Raises:
            UsageError: Its changes cannot be kept as requested.
        """
        ...

    def forget(self, container: str, image: str) -> None:
        """Remove a container and a name of an image, as far as they exist: those of kept changes."""
        ...


class EngineContainers(Protocol):
    """Running containers of an engine."""

    def execute(self, container: str, command: tuple[str, ...], timeout: float) -> RunResult:
        """Run a command in a running container, which keeps running.

        Args:
            container: Name or id.
            command: Program and arguments; it has to end by itself, because engines cannot stop it.
            timeout: Seconds to wait for it.

        Raises:
            EngineError: There is no such container, or it is not running.
        """
        ...

    def has_gpus(self, container: str) -> bool:
        """Return True if a container was given GPUs."""
        ...


class ContainerEngine(
    EngineState, EngineImages, EngineRegistry, EngineArchives, EngineBuilds, EngineRuns, EngineContainers, Protocol
):
    """Everything that an engine can do; only `wiring` holds it."""
