"""The ports that assembling images uses for input and output."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from envbuilder.image.layers.inputs import Base
from envbuilder.image.layers.records import LayerRecord, Records
from envbuilder.image.vendor.libraries import VendorArchives
from envbuilder.lock.index.index import IndexFile
from envbuilder.lock.lock import Lock, PackagePin
from envbuilder.oci.images import Descriptor, LayerFormat
from envbuilder.oci.runtime.sandbox import Sandbox
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import Transfer


class PackageFiles(Protocol):
    """Files of Python packages on an index."""

    def locate(self, pins: Sequence[PackagePin], python: str) -> Sequence[IndexFile]:
        """Return the addresses of the files of some packages for an interpreter, in their order."""
        ...

    def fetch(self, file: IndexFile, progress: Callable[[int, int], None]) -> None:
        """Fetch a file into the store; `progress` receives the bytes so far, and the total."""
        ...


class Bases(Protocol):
    """Bases of images."""

    def open(self, lock: Lock, fetch_tree: Callable[[], None]) -> Base:
        """Return the base of a lock; a registry is asked for the layers and the configuration of its image.

        `fetch_tree` is called before a missing tree is made, and may put its tar into the store.
        """
        ...


class ToolFiles(Protocol):
    """Tools and interpreter archives of locks."""

    def archive(self, lock: Lock) -> Path:
        """Return the interpreter archive of a lock."""
        ...

    def tool(self, lock: Lock, name: str) -> bytes:
        """Return the probe or the memory hook of a lock; empty if the lock names none."""
        ...


class LayerPushes(Protocol):
    """Registries that receive the layers of an image while others are made."""

    def held(self, layers: Sequence[Descriptor]) -> frozenset[str]:
        """Return the digests of the layers that all these registries hold; none if there is no registry."""
        ...

    def send(self, item: str, layer: Descriptor) -> None:
        """Send a layer of the store to the registries that lack it; `item` is its name in reports."""
        ...

    def stop(self) -> None:
        """Cancel all uploads at their next report."""
        ...


class LayerCache(Protocol):
    """Layers by key, made on any machine, and trusted because the user named the place; none of them is required."""

    def find(self, keys: Sequence[str]) -> Mapping[str, LayerRecord]:
        """Return the records of the layers that it knows, by key; the layers are not fetched."""
        ...

    def held(self, layers: Sequence[Descriptor]) -> frozenset[str]:
        """Return the digests of the layers that it can give."""
        ...

    def pull(self, layers: Sequence[Descriptor], listener: Callable[[Transfer], None]) -> None:
        """Fetch layers that `held` returned into the store; those that do not arrive, or are wrong, are reported."""
        ...


class LayerCacheWriter(Protocol):
    """A layer cache that receives layers."""

    def keep(self, key: str, record: LayerRecord, layer_format: LayerFormat) -> None:
        """Add a layer; a failure is reported and ends nothing."""
        ...

    def stop(self) -> None:
        """Cancel all uploads at their next report."""
        ...


class NoLayerCache:
    """The `LayerCache` without layers."""

    def find(self, keys: Sequence[str]) -> Mapping[str, LayerRecord]:  # noqa: ARG002  the port names it
        """Know nothing."""
        return {}

    def held(self, layers: Sequence[Descriptor]) -> frozenset[str]:  # noqa: ARG002  the port names it
        """Hold nothing."""
        return frozenset()

    def pull(self, layers: Sequence[Descriptor], listener: Callable[[Transfer], None]) -> None:
        """Fetch nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyContext:
    """The shared context of all images of one run.

    Attributes:
        sandbox: Returns the sandbox for code of packages and images; called before a run.
        work: Directory for intermediate files.
        jobs: Maximum number of layers made at once.
        clock: Returns seconds that only go forward.
        cache: Knows layers that were made elsewhere.
        cache_writer: Receives layers for other machines; None for none.
    """

    store: Store
    records: Records
    bases: Bases
    packages: PackageFiles
    files: ToolFiles
    archives: VendorArchives
    sandbox: Callable[[], Sandbox]
    work: Path
    jobs: int
    clock: Callable[[], float] = time.monotonic
    cache: LayerCache = field(default_factory=NoLayerCache)
    cache_writer: LayerCacheWriter | None = None
