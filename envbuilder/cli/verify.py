"""`envbuilder verify IMAGE|DIR|REGISTRY/REF --lock LOCK`."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import click

from envbuilder.catalog.loading import load_catalog
from envbuilder.cli.composition import Composition
from envbuilder.cli.locks import obtain_lock
from envbuilder.cli.options import source_options
from envbuilder.cli.output import json_option, print_json
from envbuilder.cli.places import places
from envbuilder.delivering.stored import read_layout
from envbuilder.errors import EngineUnavailable, UsageError
from envbuilder.files import CHUNK
from envbuilder.locking.lockfile import digest
from envbuilder.model.locks import Lock, Sources
from envbuilder.model.refs import ImageRef
from envbuilder.registries.pulling import fetch_blob, find
from envbuilder.workflows.assemble import assemble
from envbuilder.workflows.verify import Subject, Verification, verify


@click.command("verify")
@click.argument("image", metavar="IMAGE|DIR|FILE|REGISTRY/REF")
@click.option(
    "--lock", "target", metavar="LOCK|ENV", help="What it should be. Default: envbuilder.lock in this folder."
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "docker", "assemble"]),
    default="auto",
    show_default=True,
    help="Where a name is looked for. auto: first among the assembled images.",
)
@click.option("--name", default="", help="Which image of a layout or archive, when it holds several.")
@source_options
@json_option
def command(  # noqa: PLR0913  one parameter for each option
    image: str, target: str | None, engine: str, name: str, sources: Sources, *, as_json: bool
) -> None:
    """Say whether an image is what its lock says, bit by bit. Exit status 1 if not.

    IMAGE is looked for as a path, then in the store and in the container engine; a name with a registry's host is asked
    of the registry, when the engine does not have it. Differences are shown layer by layer, and file by file.
    """
    here = places()
    composition = Composition(here, load_catalog(here.matrices))
    lock, merged = obtain_lock(composition, target, sources)
    subject = _subject(composition, image, name, engine)
    work = here.cache / "work"
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=work, prefix="verify-") as folder:
        found = verify(lock, subject, lambda: _expected(composition, lock, merged), Path(folder))
    if as_json:
        print_json(_document(lock, found))
    else:
        _tell(lock, found)
    if not found.same:
        raise click.exceptions.Exit(1)


def _expected(composition: Composition, lock: Lock, sources: Sources) -> Callable[[str], Path]:
    """Makes the layers of a lock, where they are not in the store; gives where each is."""
    composition.say("making the layers as they should be, to compare files")
    if lock.image is None:
        raise UsageError("the lock does not name its image", hint="`envbuilder lock`")
    composition.add_archives(sources)
    assemble([lock], lock.image.format, composition.daemonless.assemble_ports(sources), lambda _event: None)
    return composition.store.verified


def _subject(composition: Composition, image: str, name: str, engine: str) -> Subject:
    path = Path(image)
    if path.exists():
        return _of_path(path, name)
    kept = composition.records.image(image)
    if kept is not None and engine != "docker":
        return _of_store(composition, image)
    held = _of_engine(composition, image) if engine != "assemble" else None
    if held is not None:
        return held
    host = image.partition("/")[0]
    if "/" in image and ("." in host or ":" in host or host == "localhost"):
        return _of_registry(composition, image)
    raise UsageError(
        f"there is no path, no assembled image and no image of the engine called {image}",
        hint="`envbuilder cache list` shows what was assembled here",
    )


def _of_path(path: Path, name: str) -> Subject:
    stored = read_layout(path, name)
    config = json.loads(stored.config.content)

    def fetch(number: int, target: Path) -> None:
        with stored.open(stored.layers[number]) as source, target.open("wb") as copy:
            shutil.copyfileobj(source, copy, CHUNK)

    return Subject(
        name=str(path),
        manifest=stored.manifest.descriptor.digest if stored.manifest else "",
        config=stored.config.descriptor.digest,
        layers=stored.layers if stored.manifest else (),
        diff_ids=tuple(config["rootfs"]["diff_ids"]),
        fetch=fetch,
    )


def _of_store(composition: Composition, name: str) -> Subject:
    kept = composition.records.image(name)
    if kept is None:
        raise UsageError(f"there is no image {name}")
    image = kept.image
    layers = tuple(layer.blob for layer in image.layers)
    for blob in layers:
        composition.store.verified(blob.digest)

    def fetch(number: int, target: Path) -> None:
        shutil.copyfile(composition.store.path(layers[number].digest), target)

    return Subject(
        name=name,
        manifest=image.manifest.descriptor.digest,
        config=image.config.descriptor.digest,
        layers=layers,
        diff_ids=tuple(layer.diff_id for layer in image.layers),
        fetch=fetch,
    )


def _of_engine(composition: Composition, name: str) -> Subject | None:
    try:
        found = composition.engine.image(name)
    except EngineUnavailable:
        return None
    if found is None:
        return None
    # An engine with the containerd store names images by their manifest, others by their configuration.
    return Subject(name=name, manifest="", config=found.id, layers=(), diff_ids=found.diff_ids)


def _of_registry(composition: Composition, name: str) -> Subject:
    reference = ImageRef.parse(name)
    with composition.daemonless.registry_client() as client:
        found = find(client, reference)
    config = json.loads(found.config.content)

    def fetch(number: int, target: Path) -> None:
        blob = found.layers[number]
        with composition.daemonless.registry_client() as again:
            fetch_blob(again, reference, blob, composition.store)
        shutil.copyfile(composition.store.path(blob.digest), target)

    return Subject(
        name=name,
        manifest=found.manifest.descriptor.digest,
        config=found.config.descriptor.digest,
        layers=found.layers,
        diff_ids=tuple(config["rootfs"]["diff_ids"]),
        fetch=fetch,
    )


def _tell(lock: Lock, found: Verification) -> None:
    if found.same:
        click.echo(f"{found.subject.name} is the image of the lock, bit by bit (compared: {found.proof})")
        click.echo(f"  {found.expected.manifest}")
        return
    click.echo(f"{found.subject.name} is not the image of {lock.environment} as its lock says")
    click.echo(f"  lock   {found.expected.manifest}")
    click.echo(f"  found  {found.subject.manifest or found.subject.config}")
    for difference in found.differences:
        click.echo(f"layer {difference.layer}: {difference.problem}")
        for line in difference.files:
            click.echo(f"  {line}")
    if not found.differences:
        click.echo("all layers are the same; the configuration differs (environment, labels, command or account)")
    if found.subject.fetch is None:
        click.echo("for the files that differ: `docker save IMAGE -o image.tar`, then `envbuilder verify image.tar`")


def _document(lock: Lock, found: Verification) -> dict[str, object]:
    return {
        "schema": 1,
        "image": found.subject.name,
        "lock": digest(lock),
        "same": found.same,
        "compared": found.proof,
        "expected_manifest": found.expected.manifest,
        "found_manifest": found.subject.manifest or None,
        "found_config": found.subject.config,
        "differences": [
            {"layer": each.layer, "problem": each.problem, "files": list(each.files)} for each in found.differences
        ],
    }
