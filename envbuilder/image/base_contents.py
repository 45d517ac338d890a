"""Contents of the base that a lock names: a tree of packages, or an image of a registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from envbuilder.core.references import ImageRef
from envbuilder.image.base.deb_trees import DebTrees
from envbuilder.image.base.registry_content import RegistryContent
from envbuilder.image.base.tree_content import TreeContent
from envbuilder.image.container_engine import Listener
from envbuilder.image.layers.inputs import BaseContent
from envbuilder.image.plan.layers import base_reference
from envbuilder.image.running.image_runner import ImageRunner
from envbuilder.lock.lock import BasePin, Lock
from envbuilder.oci.registry.client import RegistryClient
from envbuilder.oci.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseContents:
    """Factory of the contents of bases.

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

    def open(self, lock: Lock, fetch_tree: Callable[[], None] = lambda: None) -> BaseContent:
        """See `Bases.open`."""
        if lock.base.kind.is_tree:
            return TreeContent(
                lambda: self.debian.provide(lock, fetch_tree), lambda members: self.debian.added(lock, members)
            )
        return RegistryContent(
            reference=self._reference(lock.base),
            connect=self.connect,
            store=self.store,
            runner=self.runner,
            listener=self.listener,
        )

    def _reference(self, pin: BasePin) -> ImageRef:
        reference = base_reference(pin.kind, pin.id, pin.image, pin.digest)
        return reference.at_registry(self.registry_mirror) if self.registry_mirror else reference
