"""The engine `assemble`: layers written directly, without a daemon and without root."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Protocol

from envbuilder.image.assemble import Assembled, Assembly, assemble
from envbuilder.image.attest import attest
from envbuilder.image.builder import BuildOptions, BuildRun, BuiltImage, BuiltLayer, Delivered, ImageRequest
from envbuilder.image.builds import BuildEvent
from envbuilder.image.container_engine import Listener
from envbuilder.image.deliver import Delivery, ImagePushes
from envbuilder.image.layers.ports import AssemblyContext
from envbuilder.image.layers.records import KeptImage, Records
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest
from envbuilder.oci.images import AssembledImage


class ContextOfSources(Protocol):
    """Returns what images are assembled with."""

    def __call__(self, sources: Sources, options: BuildOptions, names: Sequence[str]) -> AssemblyContext:
        """Return a context that fetches from these sources; `names` are those of the images."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembleBuilder:
    """The `ImageBuilder` that needs no container engine.

    Attributes:
        keep_lock: Receives each lock, with the digests of its image, after delivery; not if a layer cache stated one.
    """

    context: ContextOfSources
    delivery: Delivery
    records: Records
    keep_lock: Callable[[Lock], None]

    def build(
        self, requests: Sequence[ImageRequest], options: BuildOptions, listener: Listener
    ) -> tuple[BuiltImage, ...]:
        """See `ImageBuilder.build`; images with the same sources are assembled together."""
        built: dict[ImageRequest, BuiltImage] = {}
        with self.delivery.store.used():
            for sources in dict.fromkeys(request.sources for request in requests):
                group = [request for request in requests if request.sources == sources]
                built |= self._built_together(sources, group, options, listener)
        return tuple(built[request] for request in requests)

    def _built_together(
        self, sources: Sources, requests: Sequence[ImageRequest], options: BuildOptions, listener: Listener
    ) -> dict[ImageRequest, BuiltImage]:
        context = self.context(sources, options, [name for request in requests for name in request.names])
        synchronized = _one_at_a_time(listener)
        with ExitStack() as stack:
            pushes = [
                stack.enter_context(
                    self.delivery.registry.pushes(request.names if options.push else (), sources, synchronized)
                )
                for request in requests
            ]
            assembly = assemble(
                [request.lock for request in requests],
                options.layer_format,
                context,
                synchronized,
                pushes=pushes if options.push else (),
                whole=options.load or options.output is not None,
            )
            built = {
                request: replace(
                    _built(request, assembled, assembly, self._deliver(request, assembled, options, each)),
                    is_here=self._is_here(assembled.image),
                )
                for request, assembled, each in zip(requests, assembly.images, pushes, strict=True)
            }
        for assembled in assembly.images:
            if assembled.is_confirmed:
                self.keep_lock(assembled.lock)
        return built

    def _deliver(
        self, request: ImageRequest, assembled: Assembled, options: BuildOptions, pushes: ImagePushes
    ) -> Delivered:
        image = attest(assembled.lock, assembled.image, options.layer_format)
        for name in request.names:
            if self._is_here(image):
                self.records.keep_image(KeptImage(name=name, image=image, lock=digest(assembled.lock)))
            else:
                # An older image must not keep its name.
                self.records.forget_image(name)
        return self.delivery.deliver(image, request.names, options, pushes, epoch=assembled.lock.epoch)

    def _is_here(self, image: AssembledImage) -> bool:
        return all(self.delivery.store.has(layer.blob.digest) for layer in image.layers)


def _one_at_a_time(listener: Listener) -> Listener:
    """Return a listener that layers and uploads may call from several threads."""
    lock = threading.Lock()

    def listen(event: BuildEvent) -> None:
        with lock:
            listener(event)

    return listen


def _built(request: ImageRequest, assembled: Assembled, assembly: Assembly, delivered: Delivered) -> BuiltImage:
    image = assembled.image
    titles = {layer.id: layer.title for layer in assembled.plan.layers}
    return BuiltImage(
        lock=assembled.lock,
        names=request.names,
        id=image.config.descriptor.digest,
        manifest=image.manifest.descriptor.digest,
        size=sum(layer.blob.size for layer in image.layers),
        layers=tuple(
            BuiltLayer(
                title=titles.get(layer.id, layer.id),
                size=layer.blob.size,
                id=layer.id,
                digest=layer.blob.digest,
                diff_id=layer.diff_id,
                made=layer.id in assembled.made,
            )
            for layer in image.layers
        ),
        run=BuildRun(steps=assembly.steps, seconds=assembly.seconds, downloaded=assembly.fetched),
        delivered=delivered,
        notes=assembled.notes,
    )
