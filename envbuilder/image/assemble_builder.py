"""The engine `assemble`: layers written directly, without a daemon and without root."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from envbuilder.image.assemble import Assembled, Assembly, assemble
from envbuilder.image.attest import attest
from envbuilder.image.builder import BuildOptions, BuildRun, BuiltImage, BuiltLayer, Delivered, ImageRequest
from envbuilder.image.container_engine import Listener
from envbuilder.image.deliver import Delivery, Destinations
from envbuilder.image.layers.ports import AssemblyContext
from envbuilder.image.layers.records import KeptImage, Records
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest
from envbuilder.lock.spec_values import Sources


class ContextOfSources(Protocol):
    """Returns what images are assembled with."""

    def __call__(self, sources: Sources, *, jobs: int, offline: bool) -> AssemblyContext:
        """Return a context that fetches from these sources."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembleBuilder:
    """The `ImageBuilder` that needs no container engine.

    Attributes:
        context: Returns what images are assembled with.
        delivery: Brings images to their destinations.
        records: Records the images.
        keep_lock: Receives each lock, with the digests of its image, after delivery.
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
                context = self.context(sources, jobs=options.jobs, offline=options.offline)
                assembly = assemble([request.lock for request in group], options.layer_format, context, listener)
                for request, assembled in zip(group, assembly.images, strict=True):
                    delivered = self._deliver(request, assembled, options, listener)
                    built[request] = _built(request, assembled, _run(assembly), delivered)
        for image in built.values():
            self.keep_lock(image.lock)
        return tuple(built[request] for request in requests)

    def _deliver(
        self, request: ImageRequest, assembled: Assembled, options: BuildOptions, listener: Listener
    ) -> Delivered:
        image = attest(assembled.lock, assembled.image, options.layer_format)
        for name in request.names:
            self.records.keep_image(KeptImage(name=name, image=image, lock=digest(assembled.lock)))
        destinations = Destinations(
            names=request.names,
            output=options.output,
            load=options.load,
            push=options.push,
            epoch=assembled.lock.epoch,
        )
        return self.delivery.deliver(image, destinations, listener)


def _run(assembly: Assembly) -> BuildRun:
    return BuildRun(steps=assembly.steps, seconds=assembly.seconds, downloaded=assembly.fetched)


def _built(request: ImageRequest, assembled: Assembled, run: BuildRun, delivered: Delivered) -> BuiltImage:
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
        run=run,
        delivered=delivered,
        notes=assembled.notes,
    )
