"""Bases of Dockerfiles, loaded or pulled into a container engine."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from envbuilder.core.errors import SourceUnreachable
from envbuilder.core.references import ImageRef
from envbuilder.image.base.deb_trees import DebTrees
from envbuilder.image.base.docker_archive import docker_archive
from envbuilder.image.base.tree_store import DebTree
from envbuilder.image.container_engine import EngineArchives, EngineState, Listener
from envbuilder.image.docker.registry_bases import PullingEngine, fetch_base
from envbuilder.image.plan.layers import LABEL_BASE, base_reference, image_reference
from envbuilder.lock.lock import BasePin, Lock
from envbuilder.oci.tar.members import of_tar
from envbuilder.oci.tar.writing import write


class BaseEngine(PullingEngine, EngineArchives, EngineState, Protocol):
    """An engine that loads or pulls bases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineBases:
    """Provides an engine with the bases of locks.

    Attributes:
        registry_mirror: Registry that serves images in place of the one in their names; empty for none.
        progress: Progress callback; receives one line of text.
    """

    engine: BaseEngine
    debian: DebTrees
    registry_mirror: str
    listener: Listener
    progress: Callable[[str], None]

    def provide_image(self, pin: BasePin) -> str:
        """Pull a registry image if the engine lacks it; return its name in the engine.

        Raises:
            SourceUnreachable: Neither the engine nor the registry has it.
        """
        reference = base_reference(pin.kind, pin.id, pin.image, pin.digest)
        return fetch_base(self.engine, pin, reference, self.registry_mirror, self.listener)

    def provide(self, lock: Lock) -> str:
        """Load or pull the base of a lock, with its OS packages; return its name in the engine.

        Raises:
            SourceUnreachable: Neither the engine, nor this machine, nor the registry has it.
        """
        reference = image_reference(lock)
        layers = 2 if lock.unpacks_os_packages else 1
        if lock.base.kind.is_tree and self.engine.image(str(reference)) is None:
            try:
                self._load_base(lock, reference)
            except SourceUnreachable:
                # The registry mirror may have it.
                if not self.registry_mirror:
                    raise
        return fetch_base(self.engine, lock.base, reference, self.registry_mirror, self.listener, layers=layers)

    def load(self, tree: DebTree, reference: ImageRef, added: Path | None = None) -> None:
        """Load a tree into the engine; a tar of OS packages becomes a second layer."""
        self.progress(f"loading {tree.id} into the engine")
        with self._scratch(".loading-") as work:
            archive = Path(work) / "image.tar"
            docker_archive(tree, archive, labels={LABEL_BASE: tree.id}, tags=(str(reference),), added=added)
            self.engine.load(archive)

    def _load_base(self, lock: Lock, reference: ImageRef) -> None:
        tree = self.debian.provide(lock)
        with self._scratch(".added-") as work:
            added = Path(work) / "added.tar" if lock.unpacks_os_packages else None
            if added:
                write(self.debian.added(lock, of_tar(tree.path)), added)
            self.load(tree, reference, added)

    def _scratch(self, prefix: str) -> tempfile.TemporaryDirectory[str]:
        folder = self.debian.trees.folder
        folder.mkdir(parents=True, exist_ok=True)
        return tempfile.TemporaryDirectory(dir=folder, prefix=prefix)
