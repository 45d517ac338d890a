"""`envbuilder cache list|prune`."""

from __future__ import annotations

import click

from envbuilder.assembling.records import Records
from envbuilder.cli.output import json_option, print_json, size, table
from envbuilder.cli.places import places
from envbuilder.rooms import bytes_of
from envbuilder.store import Store
from envbuilder.workflows.keep import prune, room_usage, usage


@click.group("cache")
def command() -> None:
    """Show what the cache directory holds, and free what is not needed."""


@command.command("list")
@json_option
def list_command(*, as_json: bool) -> None:
    """Show assembled images, and how much each part of the cache directory holds."""
    cache = places().cache
    store = Store(folder=cache / "store")
    found = usage(store, Records(store=store))
    rooms = room_usage(cache)
    total = bytes_of(cache)
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
                "directories": [{"name": room.name, "holds": room.holds, "bytes": used} for room, used in rooms],
                "bytes": total,
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
    parts = [
        (size(found.layers), "store", "layers of images"),
        (size(found.loose), "store", "layers of no image"),
        (size(found.files), "store", "downloads"),
        (size(found.beside), "store", "partial downloads, unpacked bases"),
        *((size(used), room.name, room.holds) for room, used in rooms),
    ]
    click.echo(table(("SIZE".rjust(8), "DIRECTORY", "HOLDS"), [(each.rjust(8), *words) for each, *words in parts]))
    click.echo("")
    click.echo(f"{cache}: {size(total)}")
    click.echo("next: `envbuilder cache prune` frees what no image needs, `--all` everything")


@command.command("prune")
@click.option("--all", "everything", is_flag=True, help="Images, bases, interpreter archives, locks and logs too.")
@json_option
def prune_command(*, everything: bool, as_json: bool) -> None:
    """Remove what no image needs: downloads, layers, unpacked images, and leftovers of interrupted runs.

    Waits for builds that use the store. What other commands use stays.
    """
    cache = places().cache
    store = Store(folder=cache / "store")
    done = prune(cache, store, Records(store=store), everything=everything)
    if as_json:
        print_json({"schema": 1, "freed_bytes": done.freed, "in_use": list(done.in_use)})
        return
    click.echo(f"freed {size(done.freed)}")
    if done.in_use:
        click.echo(f"in use by other commands, and kept: {', '.join(done.in_use)}")
