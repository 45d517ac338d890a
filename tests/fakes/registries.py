"""Registries in memory that take images while their layers are made."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from envbuilder.core.errors import SourceUnreachable, VerificationFailed
from envbuilder.image.container_engine import Listener
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.oci.images import AssembledImage, Descriptor
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import PushResult


@dataclass(kw_only=True)
class FakeRegistry:
    """A registry that keeps what it gets; a repository has all its blobs.

    Attributes:
        store: What is sent comes from it.
        blobs: Digests that it has.
        sent: Items that were sent, in order.
        tags: Digest of the manifest by name.
        refused: Item whose upload is refused; empty for none.
        stopped: Whether the uploads were stopped.
        on_send: Called before each upload.
        on_stop: Called when the uploads are stopped.
    """

    store: Store
    blobs: set[str] = field(default_factory=set)
    sent: list[str] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    refused: str = ""
    stopped: bool = False
    on_send: Callable[[str], None] = lambda _item: None
    on_stop: Callable[[], None] = lambda: None
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def pushes(self, names: Sequence[str], sources: Sources, listener: Listener) -> Iterator[FakePushes]:  # noqa: ARG002  the port names it
        yield FakePushes(registry=self, names=tuple(names))


@dataclass(frozen=True, kw_only=True)
class FakePushes:
    """The pushes of one image to a registry.

    Attributes:
        registry: The registry.
        names: Names of the image.
    """

    registry: FakeRegistry
    names: tuple[str, ...]

    def held(self, layers: Sequence[Descriptor]) -> frozenset[str]:
        return frozenset(layer.digest for layer in layers if self.names) & frozenset(self.registry.blobs)

    def send(self, item: str, layer: Descriptor) -> None:
        there = self.registry
        with there.lock:
            if not self.names or layer.digest in there.blobs:
                return
            there.on_send(item)
            if item == there.refused:
                raise SourceUnreachable(f"{item} is refused", hint="ask its operator")
            if not there.store.has(layer.digest, layer.size):
                raise VerificationFailed(f"{item} is not in the store")
            there.blobs.add(layer.digest)
            there.sent.append(item)

    def stop(self) -> None:
        self.registry.stopped = True
        self.registry.on_stop()

    def finish(self, image: AssembledImage) -> tuple[PushResult, ...]:
        for layer in image.layers:
            self.send(layer.id, layer.blob)
        digest = image.manifest.descriptor.digest
        self.registry.tags |= dict.fromkeys(self.names, digest)
        return tuple(
            PushResult(
                reference=name, digest=digest, pushed_bytes=0, pushed_layers=len(self.registry.sent),
                present_layers=len(image.layers) - len(self.registry.sent), seconds=0.0,
            )
            for name in self.names
        )  # fmt: skip
