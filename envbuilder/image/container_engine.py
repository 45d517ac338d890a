"""The port to a container engine. One file per engine beside this one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeAlias

from envbuilder.core.references import ImageRef
from envbuilder.image.builds import BuildEvent, BuildRequest, BuildResult, EngineInfo, ImageInfo, LoadResult
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.runtime.command import Output, RunRequest, RunResult
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import PushResult

Listener: TypeAlias = Callable[[BuildEvent], None]


class ContainerEngine(Protocol):
    """What the workflows need of a container engine.

    Every method raises `EngineUnavailable` when no engine answers, `EngineLost` when it stops answering in the
    middle, and `DiskFull` when it runs out of space.
    """

    def info(self) -> EngineInfo:
        """The engine that answers."""
        ...

    def image(self, reference: str) -> ImageInfo | None:
        """The image that the engine has under this reference or id; None when it has none. Never pulls."""
        ...

    def registry_digest(self, reference: ImageRef) -> str:
        """The manifest digest that a registry gives for a reference, without pulling.

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

    def load(self, archive: Path) -> ImageInfo:
        """Take an image from a `docker save` archive that holds exactly one."""
        ...

    def load_image(self, image: AssembledImage, store: Store, tags: tuple[str, ...]) -> LoadResult:
        """Take an assembled image, of which only the layers are sent that the engine lacks.

        Args:
            image: The image.
            store: Has its layers; they are verified. What is attached to the image stays behind.
            tags: `repository:tag` that it gets when it is there and found to be right; may be none.

        Raises:
            VerificationFailed: What the engine has then is not this image; or a layer is damaged, or not in the store.
        """
        ...

    def save(self, reference: str, archive: Path) -> None:
        """Write an image into a `docker save` archive, which `load` takes.

        Raises:
            EngineError: There is no such image.
            DiskFull: There is no room.
        """
        ...

    def tag(self, image_id: str, reference: ImageRef) -> None:
        """Give an image another name."""
        ...

    def untag(self, reference: str) -> None:
        """Take a name from an image; an image without any other name goes with it."""
        ...

    def build(self, request: BuildRequest, listener: Listener) -> BuildResult:
        """Build a rendered folder; cancels the build in the engine when interrupted (`KeyboardInterrupt`).

        Raises:
            BuildFailed: A step failed; carries its name and the end of its output.
            SourceUnreachable: A base or package source did not answer.
            VerificationFailed: Something fetched was not what its digest says.
        """
        ...

    def push(self, reference: ImageRef, listener: Listener) -> PushResult:
        """Send a tagged image to the registry that its name says.

        Raises:
            SourceUnreachable: The registry does not answer or refuses.
        """
        ...

    def execute(self, container: str, command: tuple[str, ...], timeout: float) -> RunResult:
        """Run a command in a container that is running already; it is left alone afterwards.

        Args:
            container: Name or id.
            command: Program and arguments; it has to end by itself, engines cannot end it.
            timeout: Seconds after which it is given up.

        Raises:
            EngineError: There is no such container, or it does not run.
        """
        ...

    def has_gpus(self, container: str) -> bool:
        """Whether a container was given GPUs."""
        ...

    def run(self, request: RunRequest) -> RunResult:
        """Run a command in a new container, and remove the container whatever happens."""
        ...

    def follow(self, request: RunRequest, output: Output) -> int:
        """Like `run`, to its end however long it takes, handing on what it writes as it comes.

        Args:
            request: What to run; its `timeout` and `copy_out` do not count.
            output: Gets what it writes.

        Returns:
            Its exit status; 127 and 126 when it cannot be started, as in a shell.
        """
        ...
