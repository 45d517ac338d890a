"""Bases that locks name: trees of packages, and images of registries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from envbuilder.core.errors import UsageError
from envbuilder.core.json_fields import parsed, record
from envbuilder.core.references import ImageRef
from envbuilder.image.base.deb_trees import DebTrees
from envbuilder.image.base.tree_store import DebTree
from envbuilder.image.container_engine import Listener
from envbuilder.image.layers.inputs import Base
from envbuilder.image.plan.layers import base_reference
from envbuilder.image.running.image_runner import ImageRunner
from envbuilder.lock.lock import BasePin, Lock
from envbuilder.oci.images import AssembledImage, Descriptor, ImageLayerPin, LayerFormat
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.pull import RemoteImage, fetch_blobs, find
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import EPOCH, Member, of_folder, of_tar

_OURS = {
    "application/vnd.docker.image.rootfs.diff.tar.gzip": LayerFormat.GZIP_SPLICED.media_type,
    "application/vnd.docker.image.rootfs.diff.tar": LayerFormat.TAR.media_type,
}


@dataclass(frozen=True)
class TreeContent:
    """A tree that is opened on first use.

    Attributes:
        find_tree: Returns the tree; called at most once.
        unpack_added: Returns the files that the OS packages add to these members.
    """

    find_tree: Callable[[], DebTree]
    unpack_added: Callable[[tuple[Member, ...]], Iterable[Member]] = lambda _members: ()

    def provide(self) -> Path:
        """Fetch and unpack the packages of the tree, unless it is there; return it as a tar."""
        return self._tree.path

    def added(self) -> Iterable[Member]:
        """Return the files of the OS packages, directories before their content."""
        return self._added

    def members(self) -> Iterable[Member]:
        """Return all members; those of the OS packages come last."""
        return (*self._members, *self._added)

    @cached_property
    def _tree(self) -> DebTree:
        return self.find_tree()

    @cached_property
    def _members(self) -> tuple[Member, ...]:
        return of_tar(self._tree.path)

    @cached_property
    def _added(self) -> tuple[Member, ...]:
        return tuple(self.unpack_added(self._members))


@dataclass(frozen=True)
class RegistryContent:
    """A base whose layers stay as they are.

    Attributes:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseContents:
    """The `Bases` of locks.

    Attributes:
        registry_mirror: Registry that replaces the one that a lock names; empty for none.
    """

    debian: DebTrees
    registry_mirror: str
    connect: Callable[[], RegistryClient]
    store: Store
    runner: ImageRunner
    listener: Listener

    def open(self, lock: Lock, fetch_tree: Callable[[], None] = lambda: None) -> Base:
        """See `Bases.open`."""
        if lock.base.kind.is_tree:
            tree = TreeContent(
                lambda: self.debian.provide(lock, fetch_tree), lambda members: self.debian.added(lock, members)
            )
            return Base(content=tree)
        reference = self._reference(lock.base)
        with self.connect() as client:
            image = find(client, reference)
        content = RegistryContent(
            reference=reference,
            image=image,
            connect=self.connect,
            store=self.store,
            runner=self.runner,
            listener=self.listener,
        )
        return Base(content=content, layers=content.layers, config=content.config)

    def _reference(self, pin: BasePin) -> ImageRef:
        reference = base_reference(pin.kind, pin.id, pin.image, pin.digest)
        return reference.at_registry(self.registry_mirror) if self.registry_mirror else reference
