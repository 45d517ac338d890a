"""The ports that assembling images uses for input and output."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from envbuilder.image.layers.inputs import BaseContent
from envbuilder.image.layers.records import Records
from envbuilder.image.vendor.libraries import VendorArchives
from envbuilder.lock.index.index import IndexFile
from envbuilder.lock.lock import Lock, PackagePin
from envbuilder.oci.images import Descriptor
from envbuilder.oci.runtime.sandbox import Sandbox
from envbuilder.oci.store import Store


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

    def open(self, lock: Lock) -> BaseContent:
        """Return the content of the base of a lock; nothing is fetched before it is used."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyContext:
    """The shared context of all images of one run.

    Attributes:
        store: Keeps files and layers.
        records: Remembers layers and images.
        bases: Opens bases.
        packages: Fetches Python packages.
        files: Finds interpreter archives and tools.
        archives: Fetches vendor archives, and takes libraries out of them.
        sandbox: Returns the sandbox for code of packages and images; called before a run.
        work: Directory for intermediate files.
        jobs: Maximum number of layers made at once.
        clock: Returns seconds that only go forward.
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
