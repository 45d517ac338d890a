"""An assembled image to where it is wanted: a folder, an archive, a squashfs, an engine, a registry."""

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
    """Where an image goes, beside the store.

    Attributes:
        names: `repository:tag` that it gets.
        output: A folder (OCI layout), a `.tar` (OCI archive that Docker loads too) or a `.sqsh`; None for none.
        load: Give it to the container engine.
        push: Send it to the registries of its names.
        epoch: Time stamp of what has one.
    """

    names: tuple[str, ...]
    output: Path | None = None
    load: bool = False
    push: bool = False
    epoch: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliverPorts:
    """What delivering needs of the world.

    Attributes:
        store: Has the layers.
        engine: Takes an image.
        push: Sends an image to a registry.
        search_path: Folders of programs, as in PATH.
        sandbox: Gives what programs that read an image run in.
    """

    store: Store
    engine: Callable[[], ContainerEngine]
    push: Callable[[AssembledImage, ImageRef, Listener], PushResult]
    search_path: str
    sandbox: Callable[[], Sandbox]


def deliver(image: AssembledImage, wanted: Destinations, ports: DeliverPorts, listener: Listener) -> Delivered:
    """Bring an image to all its destinations.

    Raises:
        EngineError: The engine refuses it.
        SourceUnreachable: A registry does not take it.
        UsageError: Something else lies where it should be written.
        ToolMissing: A squashfs needs mksquashfs.
        VerificationFailed: The store is damaged, or the other side has something else now.
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
    """Write an image to a path; its ending says in which form."""
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
