"""`envbuilder cache list|prune|remove|verify`."""

from __future__ import annotations

import click

from envbuilder.cli.context import command_settings
from envbuilder.cli.documents import maintenance as documents
from envbuilder.cli.groups import Group
from envbuilder.cli.output.printing import folded, json_option, notice, print_json, table
from envbuilder.cli.output.streams import visible
from envbuilder.core.cache_directories import KEPT, STORE, bytes_of
from envbuilder.core.structure import document_of
from envbuilder.core.units import size
from envbuilder.image.cache_usage import prune, remove_image, room_usage, usage
from envbuilder.image.layers.records import Records
from envbuilder.image.running.changes import kept_in
from envbuilder.image.verify_cache import CacheState, verify_cache
from envbuilder.oci.store import Store
from envbuilder.wiring.node_runtimes import remove_changes
from envbuilder.wiring.settings import Settings


@click.group("cache", cls=Group)
def command() -> None:
    """List, verify and prune the cache directory."""


@command.command("list")
@json_option
def list_command(*, as_json: bool) -> None:
    """List assembled images and the size of each cache directory."""
    here = command_settings()
    cache, store = here.cache, Store(folder=here.room(STORE))
    found = usage(store, Records(store=store))
    rooms = room_usage(cache)
    changes = [(kept, kept.used) for kept in kept_in(cache / KEPT)]
    total = bytes_of(cache)
    if as_json:
        images = [
            document_of(
                documents.KeptImage,
                kept,
                manifest=kept.image.manifest.descriptor.digest,
                bytes=whole,
                bytes_of_its_own=own,
            )
            for kept, whole, own in found.images
        ]
        kept_changes = [
            document_of(documents.KeptChanges, kept, name=kept.folder.name, manifest=kept.digest, bytes=used)
            for kept, used in changes
        ]
        print_json(
            document_of(
                documents.CacheList,
                store,
                images=images,
                kept_changes=kept_changes,
                layer_bytes=found.layers,
                loose_layer_bytes=found.loose,
                download_bytes=found.files,
                unpacked_bytes=found.beside,
                directories=[document_of(documents.CacheDirectory, room, bytes=used) for room, used in rooms],
                bytes=total,
            )
        )
        return
    rows = [
        (size(whole).rjust(8), size(own).rjust(8), kept.image.manifest.descriptor.digest[7:19], kept.name)
        for kept, whole, own in found.images
    ]
    if rows:
        click.echo(table(("SIZE".rjust(8), "OWN".rjust(8), "DIGEST", "IMAGE"), rows))
        click.echo("")
    if changes:
        kept_rows = [
            (size(used).rjust(8), kept.folder.name, kept.engine or "cache", kept.image) for kept, used in changes
        ]
        click.echo(table(("SIZE".rjust(8), "CHANGES", "IN", "OF IMAGE"), kept_rows))
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
    click.echo(folded("next: `envbuilder cache prune` removes files that no image needs, `--all` everything"))


@command.command("prune")
@click.option(
    "--all", "everything", is_flag=True, help="Also remove images, bases, interpreter archives, locks and logs."
)
@json_option
def prune_command(*, everything: bool, as_json: bool) -> None:
    """Remove files that no image needs, and files of interrupted runs.

    These are downloads, layers and unpacked images. Waits for running builds; keeps files that other commands use.
    """
    here = command_settings()
    cache, store = here.cache, Store(folder=here.room(STORE))
    done = prune(cache, store, Records(store=store), everything=everything)
    if as_json:
        print_json({"schema": 1, "freed_bytes": done.freed, "in_use": list(done.in_use)})
        return
    click.echo(f"freed {size(done.freed)}")
    if done.in_use:
        click.echo(f"kept, in use by other commands:  {', '.join(done.in_use)}")


@command.command("remove")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
def remove_command(names: tuple[str, ...]) -> None:
    """Remove assembled images, or changes that were kept by `envbuilder run --keep NAME`.

    NAME is as `envbuilder cache list` shows it. Layers that other images need stay.
    """
    here = command_settings()
    click.echo(f"freed {size(sum(_removed(here, name) for name in names))}")


def _removed(here: Settings, name: str) -> int:
    """Remove kept changes of a name, or the image of this name; return the bytes freed."""
    # Names of changes have neither.
    if "/" not in name and ":" not in name:
        return remove_changes(here, name)
    store = Store(folder=here.room(STORE))
    return remove_image(here.cache, store, Records(store=store), name)


@command.command("verify")
@click.option("--remove", "removing", is_flag=True, help="Remove damaged files.")
@json_option
def verify_command(*, removing: bool, as_json: bool) -> None:
    """Check all files of the cache directory for damage.

    Exit status 1 if damaged files remain.
    """
    here = command_settings()
    cache, store = here.cache, Store(folder=here.room(STORE))
    found = verify_cache(cache, store, Records(store=store), notice, removing=removing)
    if as_json:
        print_json(document_of(documents.CacheVerify, found, checked=found.parts))
    else:
        _print_state(found)
    if any(not each.removed for each in found.damaged):
        raise click.exceptions.Exit(1)


def _one_line(text: str) -> str:
    """Return a text with file names, which may contain any character, on one line."""
    return visible(text).replace("\n", "\\n")


def _print_state(found: CacheState) -> None:
    rows = [(size(part.bytes).rjust(8), str(part.count).rjust(6), part.holds) for part in found.parts]
    if rows:
        click.echo(table(("SIZE".rjust(8), "COUNT".rjust(6), "CHECKED"), rows))
    for each in found.damaged:
        click.echo(f"{'removed' if each.removed else 'damaged'}: {_one_line(str(each.path))}: {_one_line(each.reason)}")
    click.echo(folded(f"{len(found.damaged)} damaged; not checked: {', '.join(found.unchecked)}"))
    if any(not each.removed for each in found.damaged):
        step = "next: `envbuilder cache verify --remove`; removed files are created or downloaded again when needed"
        click.echo(folded(step))
