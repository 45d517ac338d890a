"""Bases that locks name: trees of packages, and images of registries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from envbuilder.core.references import ImageRef
from envbuilder.image.base.deb_trees import DebTrees
from envbuilder.image.base.registry_content import RegistryContent
from envbuilder.image.base.tree_content import TreeContent
from envbuilder.image.container_engine import Listener
from envbuilder.image.layers.inputs import Base
from envbuilder.image.plan.layers import base_reference
from envbuilder.image.running.image_runner import ImageRunner
from envbuilder.lock.lock import BasePin, Lock
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.registry.pull import find
from envbuilder.oci.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseContents:
    """The `Bases` of locks.

    Attributes:
        debian: Makes trees of .deb packages.
        registry_mirror: Registry that replaces the one that a lock names; empty for none.
        connect: Opens a client for registries.
        store: Receives the layers of registry images.
        runner: Unpacks registry images.
        listener: Receives the progress of transfers.
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
