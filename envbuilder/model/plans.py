"""The ordered layers of one image."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from envbuilder.model.cuda import LibraryLink
from envbuilder.model.locks import Lock, OsPackagePin, PackagePin


class LayerKind(StrEnum):
    """What a layer holds, in the order of the layers."""

    SYSTEM = "system"
    INTERPRETER = "interpreter"
    CUDA = "cuda"
    FRAMEWORK = "framework"
    PACKAGES = "packages"
    OWN = "own"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer: a pure function of its pins.

    Attributes:
        kind: What it holds.
        title: One line for readers.
        packages: Python distributions, sorted by name.
        os_packages: OS packages, sorted by name.
        links: Second names for CUDA libraries.
    """

    kind: LayerKind
    title: str
    packages: tuple[PackagePin, ...] = ()
    os_packages: tuple[OsPackagePin, ...] = ()
    links: tuple[LibraryLink, ...] = ()

    @property
    def builds_from_source(self) -> bool:
        """Whether one of its files is a source distribution."""
        return any(not pin.is_wheel for pin in self.packages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What both engines follow.

    Attributes:
        lock: Where everything comes from.
        base: Image reference that the first layer lies on.
        layers: In order; kinds are unique; the last is always `own`.
        build_tools: What source distributions are built with; in no layer.
        env: Environment of the image, sorted by name.
        labels: Labels of the image, sorted by name.
    """

    lock: Lock
    base: str
    layers: tuple[Layer, ...]
    build_tools: tuple[PackagePin, ...]
    env: tuple[tuple[str, str], ...]
    labels: tuple[tuple[str, str], ...]

    def layer(self, kind: LayerKind) -> Layer | None:
        """The layer of a kind; None when this image has none."""
        return next((layer for layer in self.layers if layer.kind is kind), None)
