"""`envbuilder build --engine assemble`: the layers written directly, no daemon, no root."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from envbuilder.cli.build_docker import pushed, tell_push
from envbuilder.cli.output.printing import folded, size, table
from envbuilder.image.assemble import Assembled, Assembly, assemble
from envbuilder.image.attest import attest
from envbuilder.image.build import default_tags
from envbuilder.image.container_engine import Listener
from envbuilder.image.deliver import Delivered, Destinations, deliver
from envbuilder.image.layers.records import KeptImage
from envbuilder.lock.lock import Lock, Sources
from envbuilder.lock.lockfile import digest
from envbuilder.oci.images import LayerFormat
from envbuilder.wiring.adapters import Composition


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembleSettings:
    """The options that only this engine has.

    Attributes:
        tags: `repository:tag`; empty means the default ones.
        format: How layers are packed.
        output: Folder, `.tar` or `.sqsh` to write; None for none.
        load: Give the images to the container engine.
        push: Push every tag.
        jobs: How many layers are made at once; 0 means one for each processor.
        offline: Nothing is downloaded.
    """

    tags: tuple[str, ...]
    format: LayerFormat
    output: Path | None
    load: bool
    push: bool
    jobs: int
    offline: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Everything that is told about assembled images.

    Attributes:
        assembly: What was made.
        tags: Names of each image, in the order of the images.
        delivered: Where each went, likewise.
        log: Everything in detail.
    """

    assembly: Assembly
    tags: tuple[tuple[str, ...], ...]
    delivered: tuple[Delivered, ...]
    log: Path


def build_by_assembling(  # noqa: PLR0913  what one build needs
    composition: Composition,
    locks: Sequence[Lock],
    sources: Sources,
    settings: AssembleSettings,
    listener: Listener,
    log: Path,
) -> Outcome:
    """Assemble locks and bring the images where they are wanted."""
    with composition.store.used():
        return _built(composition, locks, sources, settings, listener, log)


def _built(  # noqa: PLR0913  as above
    composition: Composition,
    locks: Sequence[Lock],
    sources: Sources,
    settings: AssembleSettings,
    listener: Listener,
    log: Path,
) -> Outcome:
    ports = composition.daemonless.assemble_ports(sources, jobs=settings.jobs, offline=settings.offline)
    assembly = assemble(locks, settings.format, ports, listener)
    tags, delivered = [], []
    for assembled in assembly.images:
        names = settings.tags or default_tags(assembled.lock)
        image = attest(assembled.lock, assembled.image, settings.format)
        for name in names:
            composition.records.keep_image(KeptImage(name=name, image=image, lock=digest(assembled.lock)))
        wanted = Destinations(
            names=names,
            output=settings.output,
            load=settings.load,
            push=settings.push,
            epoch=assembled.lock.epoch,
        )
        tags.append(names)
        delivered.append(deliver(image, wanted, composition.daemonless.deliver_ports(), listener))
    return Outcome(assembly=assembly, tags=tuple(tags), delivered=tuple(delivered), log=log)


def tell(outcome: Outcome) -> None:
    """Say what was made."""
    assembly = outcome.assembly
    for assembled, names, delivered in zip(assembly.images, outcome.tags, outcome.delivered, strict=True):
        _tell_image(assembled, names, delivered, layers=len(assembly.images) == 1)
    if len(assembly.images) > 1:
        blobs = {layer.blob.digest: layer.blob.size for each in assembly.images for layer in each.image.layers}
        whole = sum(layer.blob.size for each in assembly.images for layer in each.image.layers)
        click.echo(
            f"{len(assembly.images)} images: {size(sum(blobs.values()))} in {len(blobs)} distinct layers, "
            f"{size(whole)} if they shared none"
        )
    click.echo(f"{assembly.seconds:.1f}s, {size(assembly.fetched)} downloaded")
    click.echo(f"next: `envbuilder validate {outcome.tags[0][0]}`")


def _tell_image(assembled: Assembled, names: tuple[str, ...], delivered: Delivered, *, layers: bool) -> None:
    image, lock = assembled.image, assembled.lock
    if layers:
        titles = {layer.id: layer.title for layer in assembled.plan.layers}
        rows = [
            (
                size(layer.blob.size).rjust(8),
                "made" if layer.id in assembled.made else "there",
                titles.get(layer.id, layer.id),
            )
            for layer in image.layers
        ]
        click.echo(table(("SIZE".rjust(8), "", "LAYER"), rows))
        click.echo("")
    total = size(sum(layer.blob.size for layer in image.layers))
    click.echo(f"{lock.environment}: {total} in {len(image.layers)} layers, {len(assembled.made)} made now")
    click.echo(f"  {image.manifest.descriptor.digest}")
    for name in names:
        click.echo(f"  {name}")
    if delivered.output:
        click.echo(f"wrote {delivered.output}")
    if delivered.loaded:
        loaded = delivered.loaded
        sent = f"{size(loaded.sent_bytes)} in {loaded.sent_layers} layers, {loaded.present_layers} were there"
        click.echo(f"loaded into the engine: {sent}")
    for push in delivered.pushes:
        tell_push(push)
    for note in assembled.notes:
        click.echo(folded(f"note: {note}"))
    for deviation in lock.differences:
        click.echo(folded(f"deviation: {deviation}"))


def document(outcome: Outcome) -> dict[str, object]:
    """The same for a machine."""
    assembly = outcome.assembly
    blobs = {layer.blob.digest: layer.blob.size for each in assembly.images for layer in each.image.layers}
    images = [
        _image_document(assembled, names, delivered)
        for assembled, names, delivered in zip(assembly.images, outcome.tags, outcome.delivered, strict=True)
    ]
    return {
        "schema": 1,
        "engine": "assemble",
        "images": images,
        "distinct_bytes": sum(blobs.values()),
        "downloaded_bytes": assembly.fetched,
        "seconds": round(assembly.seconds, 3),
        "steps": [{"name": step.name, "seconds": round(step.seconds, 3)} for step in assembly.steps],
        "log": str(outcome.log),
    }


def _image_document(assembled: Assembled, names: tuple[str, ...], delivered: Delivered) -> dict[str, object]:
    lock, image = assembled.lock, assembled.image
    loaded = delivered.loaded
    return {
        "environment": lock.environment,
        "lock": digest(lock),
        "base": lock.base.id,
        "manifest": image.manifest.descriptor.digest,
        "config": image.config.descriptor.digest,
        "tags": list(names),
        "layers": [
            {
                "id": layer.id,
                "digest": layer.blob.digest,
                "diff_id": layer.diff_id,
                "size": layer.blob.size,
                "made": layer.id in assembled.made,
            }
            for layer in image.layers
        ],
        "output": str(delivered.output) if delivered.output else None,
        "loaded": {"bytes": loaded.sent_bytes, "layers": loaded.sent_layers, "present": loaded.present_layers}
        if loaded
        else None,
        "pushed": [pushed(push) for push in delivered.pushes],
        "notes": list(assembled.notes),
        "deviations": list(lock.differences),
    }
