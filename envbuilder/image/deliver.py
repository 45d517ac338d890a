"""Delivery of an assembled image: to a directory, an archive, a squashfs or SIF file, an engine, a registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from envbuilder.image.builder import BuildOptions, Delivered
from envbuilder.image.container_engine import EngineArchives, Listener
from envbuilder.image.layers.ports import LayerPushes
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.layout.archive import write_archive
from envbuilder.oci.layout.directory import write_layout
from envbuilder.oci.layout.sif import write_sif
from envbuilder.oci.layout.squashfs import write_squashfs
from envbuilder.oci.runtime.sandbox import Sandbox
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import PushResult

_ARCHIVES = (".tar",)
_SQUASHES = (".sqsh", ".squashfs", ".sqfs")
_SIFS = (".sif",)


class ImagePushes(LayerPushes, Protocol):
    """Pushes of one image to the registries of its names."""

    def finish(self, image: AssembledImage) -> tuple[PushResult, ...]:
        """Send what the registries still lack, then set the tags; return one result for each name."""
        ...


class ImageRegistry(Protocol):
    """Registries that take images."""

    def pushes(self, names: Sequence[str], sources: Sources, listener: Listener) -> AbstractContextManager[ImagePushes]:
        """Begin to push an image under some names, which may be none; its layers may not be made yet.

        Layers in a layer cache of the sources are mounted where the registry is the same.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Bring assembled images to where they are wanted.

    Attributes:
        search_path: Directories of programs, as in PATH.
        sandbox: Returns what programs that read an image run in.
    """

    store: Store
    engine: EngineArchives
    registry: ImageRegistry
    search_path: str
    sandbox: Callable[[], Sandbox]

    def deliver(
        self, image: AssembledImage, names: Sequence[str], options: BuildOptions, pushes: ImagePushes, *, epoch: int
    ) -> Delivered:
        """Bring an image to all its destinations.

        Args:
            image: The image; layers that it is only pushed with may be missing from the store.
            names: `repository:tag` of the image.
            options: Name the other destinations.
            pushes: Its pushes.
            epoch: Time stamp for formats that have one, in seconds since 1970.

        Raises:
            EngineError: The engine refuses it.
            SourceUnreachable: A registry does not take it.
            UsageError: Something else lies where it should be written.
            ToolMissing: A squashfs or SIF file needs mksquashfs.
            VerificationFailed: The store is damaged, or the other side has something else now.
        """
        if options.output:
            self._write(image, names, options.output, attestations=options.attestations, epoch=epoch)
        loaded = self.engine.load_image(image, self.store, tuple(names)) if options.load else None
        return Delivered(output=options.output, loaded=loaded, pushes=pushes.finish(image))

    def _write(
        self, image: AssembledImage, names: Sequence[str], output: Path, *, attestations: bool, epoch: int
    ) -> None:
        """Write an image to a path, whose suffix says in which form."""
        if output.suffix in _SQUASHES:
            self._write_squashfs(image, output, epoch)
        elif output.suffix in _SIFS:
            with TemporaryDirectory(dir=output.absolute().parent, prefix=f".{output.name}.") as name:
                part = Path(name, "image.sqsh")
                self._write_squashfs(image, part, epoch)
                write_sif(part, output, digest=image.manifest.descriptor.digest, epoch=epoch)
        else:
            write = write_archive if output.suffix in _ARCHIVES else write_layout
            write(image, self.store, output, names, attestations=attestations)

    def _write_squashfs(self, image: AssembledImage, output: Path, epoch: int) -> None:
        write_squashfs(image, self.store, output, epoch=epoch, search_path=self.search_path, sandbox=self.sandbox)
