"""`envbuilder cache list|prune`."""

from __future__ import annotations

import click

from envbuilder.assembling.records import Records
from envbuilder.cli.output import json_option, print_json, size, table
from envbuilder.cli.places import places
from envbuilder.store import Store
from envbuilder.workflows.keep import prune, usage


@click.group("cache")
def command() -> None:
    """Look at what is kept in the cache folder, and free what is not needed."""


@command.command("list")
@json_option
def list_command(*, as_json: bool) -> None:
    """Show assembled images and what the store holds."""
    store = Store(folder=places().cache / "store")
    found = usage(store, Records(store=store))
    if as_json:
        print_json(
            {
                "schema": 1,
                "folder": str(store.folder),
                "images": [
                    {
                        "name": kept.name,
                        "manifest": kept.image.manifest.descriptor.digest,
                        "lock": kept.lock,
                        "bytes": whole,
                        "bytes_of_its_own": own,
                    }
                    for kept, whole, own in found.images
                ],
                "layer_bytes": found.layers,
                "loose_layer_bytes": found.loose,
                "download_bytes": found.files,
            }
        )
        return
    rows = [
        (size(whole).rjust(8), size(own).rjust(8), kept.image.manifest.descriptor.digest[7:19], kept.name)
        for kept, whole, own in found.images
    ]
    if rows:
        click.echo(table(("SIZE".rjust(8), "OWN".rjust(8), "DIGEST", "IMAGE"), rows))
        click.echo("")
    click.echo(
        f"{store.folder}: {size(found.layers)} of layers in images, {size(found.loose)} of layers in none, "
        f"{size(found.files)} of downloads"
    )
    click.echo("next: `envbuilder cache prune` frees what no image needs")


@command.command("prune")
@click.option("--all", "everything", is_flag=True, help="Images too; everything is fetched and made again when needed.")
@json_option
def prune_command(*, everything: bool, as_json: bool) -> None:
    """Remove downloads and layers that no image needs."""
    store = Store(folder=places().cache / "store")
    freed = prune(store, Records(store=store), everything=everything)
    if as_json:
        print_json({"schema": 1, "freed_bytes": freed})
    else:
        click.echo(f"freed {size(freed)}")
