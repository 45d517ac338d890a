"""Delivery of an assembled image: to a directory, an archive, a squashfs, an engine, a registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from envbuilder.core.references import ImageRef
from envbuilder.image.builder import Delivered
from envbuilder.image.container_engine import ContainerEngine, Listener
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.layout.archive import write_archive
from envbuilder.oci.layout.directory import write_layout
from envbuilder.oci.layout.squashfs import write_squashfs
from envbuilder.oci.runtime.sandbox import Sandbox
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import PushResult

_ARCHIVES = (".tar",)
_SQUASHES = (".sqsh", ".squashfs", ".sqfs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Destinations:
    """The destinations of an image, beside the store.

    Attributes:
        names: `repository:tag` of the image.
        output: A directory (OCI layout), a `.tar` (OCI archive that Docker loads too) or a `.sqsh`; None for none.
        load: Load it into the container engine.
        push: Push it to the registries of its names.
        epoch: Time stamp for formats that have one.
    """

    names: tuple[str, ...]
    output: Path | None = None
    load: bool = False
    push: bool = False
    epoch: int = 0


class ImageRegistry(Protocol):
    """Registries that take images."""

    def push(self, image: AssembledImage, reference: ImageRef, listener: Listener) -> PushResult:
        """Send an image to the registry of a reference."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Bring assembled images to where they are wanted.

    Attributes:
        store: Contains the layers.
        engine: Loads an image.
        registry: Takes an image.
        search_path: Directories of programs, as in PATH.
        sandbox: Returns what programs that read an image run in.
    """

    store: Store
    engine: ContainerEngine
    registry: ImageRegistry
    search_path: str
    sandbox: Callable[[], Sandbox]

    def deliver(self, image: AssembledImage, wanted: Destinations, listener: Listener) -> Delivered:
        """Bring an image to all its destinations.

        Raises:
            EngineError: The engine refuses it.
            SourceUnreachable: A registry does not take it.
            UsageError: Something else lies where it should be written.
            ToolMissing: A squashfs needs mksquashfs.
            VerificationFailed: The store is damaged, or the other side has something else now.
        """
        if wanted.output:
            self._write(image, wanted, wanted.output)
        loaded = self.engine.load_image(image, self.store, wanted.names) if wanted.load else None
        pushes: Sequence[str] = wanted.names if wanted.push else ()
        return Delivered(
            output=wanted.output,
            loaded=loaded,
            pushes=tuple(self.registry.push(image, ImageRef.parse(name), listener) for name in pushes),
        )

    def _write(self, image: AssembledImage, wanted: Destinations, output: Path) -> None:
        """Write an image to a path, whose suffix says in which form."""
        if output.suffix in _SQUASHES:
            write_squashfs(
                image, self.store, output, epoch=wanted.epoch, search_path=self.search_path, sandbox=self.sandbox
            )
        elif output.suffix in _ARCHIVES:
            write_archive(image, self.store, output, wanted.names)
        else:
            write_layout(image, self.store, output, wanted.names)
