"""Delivery of an assembled image: to a directory, an archive, a squashfs, an engine, a registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.references import ImageRef
from envbuilder.image.builder import Delivered
from envbuilder.image.container_engine import ContainerEngine, Listener
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.layout.archive import write_archive
from envbuilder.oci.layout.directory import write_layout
from envbuilder.oci.layout.squashfs import write_squashfs
from envbuilder.oci.runtime.sandbox import Sandbox
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import PushResult

_ARCHIVES = (".tar",)
_SQUASHES = (".sqsh", ".squashfs", ".sqfs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Destinations:
    """The destinations of an image, beside the store.

    Attributes:
        names: `repository:tag` of the image.
        output: A directory (OCI layout), a `.tar` (OCI archive that Docker loads too) or a `.sqsh`; None for none.
        load: Load it into the container engine.
        push: Push it to the registries of its names.
        epoch: Time stamp for formats that have one.
    """

    names: tuple[str, ...]
    output: Path | None = None
    load: bool = False
    push: bool = False
    epoch: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliverPorts:
    """The ports for delivering.

    Attributes:
        store: Contains the layers.
        engine: Loads an image.
        push: Pushes an image to a registry.
        search_path: Directories of programs, as in PATH.
        sandbox: Returns the sandbox for programs that read an image.
    """

    store: Store
    engine: Callable[[], ContainerEngine]
    push: Callable[[AssembledImage, ImageRef, Listener], PushResult]
    search_path: str
    sandbox: Callable[[], Sandbox]


def deliver(image: AssembledImage, wanted: Destinations, ports: DeliverPorts, listener: Listener) -> Delivered:
    """Deliver an image to all its destinations.

    Raises:
        EngineError: The engine refuses it.
        SourceUnreachable: A registry does not accept it.
        UsageError: The output path holds something else.
        ToolMissing: A squashfs needs mksquashfs.
        VerificationFailed: The store is damaged, or the destination received something else.
    """
    if wanted.output:
        write_output(image, wanted, ports)
    loaded = ports.engine().load_image(image, ports.store, wanted.names) if wanted.load else None
    pushes: Sequence[str] = wanted.names if wanted.push else ()
    return Delivered(
        output=wanted.output,
        loaded=loaded,
        pushes=tuple(ports.push(image, ImageRef.parse(name), listener) for name in pushes),
    )


def write_output(image: AssembledImage, wanted: Destinations, ports: DeliverPorts) -> None:
    """Write an image to a path; its suffix selects the format."""
    output = wanted.output
    if output is None:
        return
    if output.suffix in _SQUASHES:
        write_squashfs(
            image, ports.store, output, epoch=wanted.epoch, search_path=ports.search_path, sandbox=ports.sandbox
        )
    elif output.suffix in _ARCHIVES:
        write_archive(image, ports.store, output, wanted.names)
    else:
        write_layout(image, ports.store, output, wanted.names)
