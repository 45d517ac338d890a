"""`envbuilder plan ENV|LOCK`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from packaging.version import Version

from envbuilder.cli.documents import projects as documents
from envbuilder.cli.options import base_option, lock_argument, source_options, tensorflow_option
from envbuilder.cli.output.printing import folded, json_option, print_json, table
from envbuilder.cli.session import command_session
from envbuilder.core.digests import shortened
from envbuilder.core.structure import document_of
from envbuilder.core.units import size
from envbuilder.image.plan.layers import plan
from envbuilder.image.plan.plan import Layer, Plan
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest
from envbuilder.wiring.locks import known_lock
from envbuilder.wiring.trust import trusts


@click.command("plan")
@lock_argument
@base_option
@tensorflow_option
@source_options
@json_option
def command(target: str | None, sources: Sources, base: str, tensorflow: Version | None, *, as_json: bool) -> None:
    """Show the layers of an image without building it; fetch no base and no interpreter.

    Digests are shown if they are in the lock, as after `envbuilder lock`, or if the environment was assembled on this
    machine before. Inputs that are not in the cache are listed as not pinned.
    """
    session = command_session(target)
    lock, merged = known_lock(session, target, sources, base=base, tensorflow=tensorflow)
    planned = plan(lock, digest(lock))
    if as_json:
        print_json(_document(lock, planned, trusts(session, lock, merged)))
        return
    known = {layer.id: layer for layer in lock.image.layers} if lock.image else {}
    rows = [
        (
            str(number),
            layer.id,
            size(known[layer.id].blob.size if layer.id in known else layer.size).rjust(8)
            if layer.size or layer.id in known
            else "",
            shortened(known[layer.id].blob.digest) if layer.id in known else "",
            layer.title,
        )
        for number, layer in enumerate(planned.layers, 1)
    ]
    header = ("", "ID", "SIZE".rjust(8), "DIGEST", "LAYER")
    # Without a known image, the column of digests is empty.
    shown = [(*row[:3], *row[3 if known else 4 :]) for row in (header, *rows)]
    click.echo(table(shown[0], shown[1:], optional=1))
    click.echo("")
    for line in _identity(lock):
        click.echo(folded(line))


def _identity(lock: Lock) -> Iterator[str]:
    if lock.unpinned:
        yield f"lock      not complete; not pinned yet: {'; '.join(lock.unpinned)}"
        return
    yield f"lock      {digest(lock)}"
    yield f"manifest  {lock.image.manifest if lock.image else 'not known yet: `envbuilder lock` computes it'}"


def _document(lock: Lock, planned: Plan, trusted: tuple[str, ...]) -> dict[str, Any]:
    return document_of(
        documents.PlanDocument,
        lock,
        lock=None if lock.unpinned else digest(lock),
        manifest=lock.image and lock.image.manifest,
        config=lock.image and lock.image.config,
        layers=[_layer(layer, lock) for layer in planned.layers],
        trusts=trusted,
    )


def _layer(layer: Layer, lock: Lock) -> dict[str, Any]:
    known = next((each for each in lock.image.layers if each.id == layer.id), None) if lock.image else None
    return document_of(
        documents.PlannedLayer,
        layer,
        packages=[f"{pin.name}=={pin.version}" for pin in layer.packages],
        os_packages=[f"{pin.name}={pin.version}" if pin.version else pin.name for pin in layer.os_packages],
        archives=[archive.file for archive in layer.archives],
        files=[file.path for file in layer.files],
        links=[f"{link.name} -> {link.target}" for link in layer.links],
        fetch_bytes=layer.size,
        digest=known and known.blob.digest,
        diff_id=known and known.diff_id,
        size=known and known.blob.size,
    )
