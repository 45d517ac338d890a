"""The ordered layers of one image."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from envbuilder.catalog.archives import ArchivePin
from envbuilder.catalog.cuda import LibraryLink
from envbuilder.lock.container_settings import ContainerSettings
from envbuilder.lock.lock import Lock, OsPackagePin, OwnFile, PackageGroup, PackagePin


class LayerKind(StrEnum):
    """The content of a layer, in the order of the layers.

    `libraries` layers hold the libraries of one vendor archive each; `cuda` and `framework` layers one distribution
    each; `packages` layers one large distribution each, and the last of them everything that is small; `links` second
    names for libraries; `bytecode` layers that of one very large distribution below each, and the last of them that of
    all others; `profile` layers what profiles add, one large distribution each, and the last of them the small
    ones; `own` layers one large own distribution each, and the last of them the small ones; `files` own
    files; `image` the lock and the probe.
    """

    BASE = "base"
    SYSTEM = "system"
    INTERPRETER = "interpreter"
    LIBRARIES = "libraries"
    CUDA = "cuda"
    FRAMEWORK = "framework"
    PACKAGES = "packages"
    LINKS = "links"
    BYTECODE = "bytecode"
    PROFILE = "profile"
    OWN = "own"
    FILES = "files"
    IMAGE = "image"

    @property
    def is_prefetched(self) -> bool:
        """True for layers of many small files of which a program reads most before it begins its work.

        A request for each takes longer than all of them in few (docs/adr/0042-lazy-layers-cut-and-prefetched.md).
        """
        return self in {LayerKind.INTERPRETER, LayerKind.BYTECODE}


WHEELS = (LayerKind.CUDA, LayerKind.FRAMEWORK, LayerKind.PACKAGES)
"""Layers of the distributions of an environment as they are in their wheels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer: it depends only on its pins, and on the layers that it names.

    Attributes:
        id: Unique in a plan: the kind, and the name of a distribution or an archive that is alone in it.
        title: One line for readers.
        packages: Python distributions, sorted by name.
        os_packages: OS packages, sorted by name.
        links: Second names for CUDA libraries.
        files: Own files, sorted by path.
        folder: Absolute path of a directory of the user, made if the image has none there; empty for none.
        archives: Vendor archives: one for a layer of libraries, none for any other.
        compiled: Python distributions of lower layers whose bytecode this layer holds, in the order of their layers.
    """

    kind: LayerKind
    id: str
    title: str
    packages: tuple[PackagePin, ...] = ()
    os_packages: tuple[OsPackagePin, ...] = ()
    links: tuple[LibraryLink, ...] = ()
    files: tuple[OwnFile, ...] = ()
    folder: str = ""
    archives: tuple[ArchivePin, ...] = ()
    compiled: tuple[PackagePin, ...] = ()

    @property
    def builds_from_source(self) -> bool:
        """True if one of its files is a source distribution."""
        return any(not pin.is_wheel for pin in self.packages)

    @property
    def size(self) -> int:
        """Size in bytes of its Python distributions and vendor archives; unknown sizes count as 0."""
        return sum(pin.size for pin in self.packages) + sum(archive.size for archive in self.archives)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The layers of an image, as both engines build them.

    Attributes:
        base: Reference of the image below the first layer, in a container engine.
        layers: In order, the base first; ids are unique; the last is always `image`.
        build_tools: Build tools of source distributions; in no layer.
        own_build_tools: Those of own packages with a build stage; in no layer.
        build_base: Reference of the image below the first layer of the build stage, in a container engine.
        env: Environment variables of the image, sorted by name.
        labels: Labels of the image, sorted by name.
        settings: Settings of containers; command and working directory are never unset, labels are in `labels`.
    """

    lock: Lock
    base: str
    layers: tuple[Layer, ...]
    build_tools: tuple[PackagePin, ...]
    own_build_tools: tuple[PackagePin, ...]
    build_base: str
    env: tuple[tuple[str, str], ...]
    labels: tuple[tuple[str, str], ...]
    settings: ContainerSettings

    @property
    def built(self) -> tuple[PackagePin, ...]:
        """Own packages that are built in the build stage, sorted by name; empty without such a stage."""
        own = self.lock.group(PackageGroup.OWN) if self.own_build_tools else ()
        return tuple(pin for pin in own if not pin.is_wheel)

    def built_in(self, layer: Layer) -> tuple[PackagePin, ...]:
        """Return the distributions of a layer that are built in the build stage."""
        return tuple(pin for pin in layer.packages if pin in self.built)

    def taken_in(self, layer: Layer) -> tuple[PackagePin, ...]:
        """Return the other distributions of a layer."""
        return tuple(pin for pin in layer.packages if pin not in self.built)

    def of(self, *kinds: LayerKind) -> tuple[Layer, ...]:
        """Return the layers of some kinds, in order."""
        return tuple(layer for layer in self.layers if layer.kind in kinds)

    def layer(self, kind: LayerKind) -> Layer | None:
        """Return the last layer of a kind; None if this image has none."""
        return next((layer for layer in reversed(self.layers) if layer.kind is kind), None)
