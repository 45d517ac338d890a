"""Output of `build`, as text and as JSON; the same for every engine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from envbuilder.cli.documents import images as documents
from envbuilder.cli.output.printing import folded, meaning, table
from envbuilder.cli.output.signatures import signed_documents
from envbuilder.cli.output.terminal import Meaning
from envbuilder.core.structure import document_of
from envbuilder.core.units import size
from envbuilder.image.builder import BuiltImage, BuiltLayer, Engine
from envbuilder.lock.lockfile import digest
from envbuilder.oci.transfers import PushResult
from envbuilder.wiring.signing import SignedImage


def print_built(images: Sequence[BuiltImage]) -> None:
    """Print the built images, their destinations, and the next command."""
    if len(images) == 1:
        click.echo(_layer_table(images[0].layers))
        click.echo("")
    for image in images:
        _print_image(image)
    if len(images) > 1:
        _print_sharing(images)
    click.echo(_totals(images))
    click.echo(folded(f"next: {_next(images[0])}"))


def _next(image: BuiltImage) -> str:
    name = image.names[0]
    if not image.is_here:
        # An image that is in the registry only can be read, but not run.
        return f"`envbuilder validate --tier static {name}`"
    short = name.removeprefix("envbuilder/").removesuffix(":latest")
    return f"`envbuilder validate {name}`; a shell inside: `envbuilder shell {short}`"


def _layer_table(layers: Sequence[BuiltLayer]) -> str:
    if any(layer.made is None for layer in layers):
        return table(("SIZE".rjust(8), "LAYER"), [(size(layer.size).rjust(8), layer.title) for layer in layers])
    rows = [
        (
            size(layer.size).rjust(8),
            meaning("made", Meaning.GOOD) if layer.made else meaning("reused", Meaning.NEUTRAL),
            layer.title,
        )
        for layer in layers
    ]
    return table(("SIZE".rjust(8), "", "LAYER"), rows)


def _print_image(image: BuiltImage) -> None:
    lock, delivered = image.lock, image.delivered
    made = [layer for layer in image.layers if layer.made]
    count = f"{len(image.layers)} layers" + (f", {len(made)} made now" if image.manifest else "")
    click.echo(f"{lock.environment}: {size(image.size)} in {count}")
    click.echo(f"  {image.manifest or image.id}")
    for name in image.names:
        click.echo(f"  {name}")
    if delivered.output:
        click.echo(f"wrote {delivered.output}")
    if delivered.loaded:
        loaded = delivered.loaded
        sent = f"{size(loaded.sent_bytes)} in {loaded.sent_layers} layers, {loaded.present_layers} already present"
        click.echo(f"loaded into the engine: {sent}")
    for push in delivered.pushes:
        sent = f"{size(push.pushed_bytes)} in {push.pushed_layers} layers, {push.present_layers} already present"
        click.echo(f"pushed {push.reference}: {sent}; {push.seconds:.1f}s")
        click.echo(f"  {push.digest}")
    for note in image.notes:
        click.echo(folded(f"note: {note}"))
    for deviation in lock.differences:
        click.echo(folded(f"deviation: {deviation}"))


def _print_sharing(images: Sequence[BuiltImage]) -> None:
    distinct = _distinct_layers(images)
    if distinct is not None:
        whole = size(sum(image.size for image in images))
        shared = f"{size(sum(distinct.values()))} in {len(distinct)} distinct layers"
        click.echo(f"{len(images)} images: {shared}, {whole} if they shared none")


def _totals(images: Sequence[BuiltImage]) -> str:
    builders = sorted({image.run.builder for image in images} - {""})
    downloaded = _downloaded(images)
    parts = [f"{_seconds(images):.1f}s" + (f" by {', '.join(builders)}" if builders else "")]
    if downloaded is not None:
        parts.append(f"{size(downloaded)} downloaded")
    return ", ".join(parts)


def built_document(
    engine: Engine, images: Sequence[BuiltImage], log: Path, signed: Sequence[SignedImage]
) -> dict[str, Any]:
    """Return the JSON document of a build, with the images in the order of the requests."""
    distinct = _distinct_layers(images)
    return document_of(
        documents.BuildDocument,
        None,
        engine=engine,
        images=map(_image_document, images),
        distinct_bytes=None if distinct is None else sum(distinct.values()),
        downloaded_bytes=_downloaded(images),
        seconds=round(_seconds(images), 3),
        steps=[
            document_of(documents.Step, step, seconds=round(step.seconds, 3))
            for run in dict.fromkeys(image.run for image in images)
            for step in run.steps
        ],
        log=log,
        signatures=signed_documents(signed),
    )


def _image_document(image: BuiltImage) -> dict[str, Any]:
    loaded = image.delivered.loaded
    return document_of(
        documents.BuiltImage,
        image,
        environment=image.lock.environment,
        lock=digest(image.lock),
        base=image.lock.base.id,
        builder=image.run.builder,
        tags=image.names,
        output=image.delivered.output,
        loaded=loaded
        and document_of(
            documents.Loaded,
            None,
            bytes=loaded.sent_bytes,
            layers=loaded.sent_layers,
            present=loaded.present_layers,
        ),
        pushed=map(_pushed, image.delivered.pushes),
        deviations=image.lock.differences,
    )


def _pushed(push: PushResult) -> dict[str, Any]:
    return document_of(
        documents.Pushed,
        push,
        bytes=push.pushed_bytes,
        layers=push.pushed_layers,
        present=push.present_layers,
        seconds=round(push.seconds, 3),
    )


def _distinct_layers(images: Sequence[BuiltImage]) -> dict[str, int] | None:
    """Return the bytes of each distinct layer by its digest; None if the engine gives no digests."""
    layers = [layer for image in images for layer in image.layers]
    return {layer.digest: layer.size for layer in layers} if all(layer.digest for layer in layers) else None


def _downloaded(images: Sequence[BuiltImage]) -> int | None:
    counts = [run.downloaded for run in dict.fromkeys(image.run for image in images)]
    return None if None in counts else sum(count for count in counts if count is not None)


def _seconds(images: Sequence[BuiltImage]) -> float:
    return sum(run.seconds for run in dict.fromkeys(image.run for image in images))
