"""A registry image as the base of an assembled image."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from envbuilder.core.errors import UsageError
from envbuilder.core.json_fields import parsed, record
from envbuilder.core.references import ImageRef
from envbuilder.image.container_engine import Listener
from envbuilder.image.running.image_runner import ImageRunner
from envbuilder.oci.images import AssembledImage, Descriptor, ImageLayerPin, LayerFormat
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.pull import RemoteImage, fetch_blobs
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import EPOCH, Member, of_folder

_OURS = {
    "application/vnd.docker.image.rootfs.diff.tar.gzip": LayerFormat.GZIP_SPLICED.media_type,
    "application/vnd.docker.image.rootfs.diff.tar": LayerFormat.TAR.media_type,
}


@dataclass(frozen=True)
class RegistryContent:
    """A base whose layers stay as they are.

    Attributes:
        reference: Its reference.
        image: The image as named by the registry.
        connect: Opens a client for registries.
        store: Receives the layers.
        runner: Unpacks the image.
        listener: Receives the progress of transfers.
    """

    reference: ImageRef
    image: RemoteImage
    connect: Callable[[], RegistryClient]
    store: Store
    runner: ImageRunner
    listener: Listener

    @property
    def layers(self) -> tuple[ImageLayerPin, ...]:
        """Its layers; Docker's media types become those of OCI, which changes no byte of a layer."""
        return tuple(
            ImageLayerPin(
                id=f"base.{number}",
                key=blob.digest,
                diff_id=diff_id,
                blob=Descriptor(
                    media_type=_OURS.get(blob.media_type, blob.media_type), digest=blob.digest, size=blob.size
                ),
            )
            for number, (blob, diff_id) in enumerate(zip(self.image.layers, self.image.diff_ids, strict=True))
        )

    @property
    def config(self) -> Mapping[str, object]:
        """Its configuration."""
        return record(parsed(self.image.config.content))

    def provide(self) -> None:
        """Fetch all its layers."""
        with self.connect() as client:
            fetch_blobs(client, self.reference, self.image.layers, self.store, listener=self.listener)

    def added(self) -> Iterable[Member]:
        """Refuse OS packages on it.

        Raises:
            UsageError: Always: apt would have to run inside the image.
        """
        raise UsageError(
            "OS packages on a registry image require a container engine",
            hint="use --engine docker, or a Debian base: --base ID",
        )

    def members(self) -> Iterable[Member]:
        """Return all members, merged."""
        return self._members

    @cached_property
    def _members(self) -> tuple[Member, ...]:
        self.provide()
        whole = AssembledImage(layers=self.layers, config=self.image.config, manifest=self.image.manifest)
        tree = self.runner.tree(whole)
        return tuple(sorted(of_folder(tree, epoch=EPOCH, as_found=True), key=lambda member: member.path))
