"""`envbuilder reproduce ENV|LOCK`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click

from envbuilder.cli.documents import images as documents
from envbuilder.cli.options import lock_argument, source_options
from envbuilder.cli.output.printing import folded, json_option, print_json
from envbuilder.cli.session import command_session
from envbuilder.core.errors import BuildFailed
from envbuilder.core.structure import document_of
from envbuilder.image.reproduce import (
    ODD,
    PLAIN,
    BuildAttempt,
    Surroundings,
    differences,
    reproduce,
)
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest
from envbuilder.oci.images import LayerFormat
from envbuilder.wiring.build_inputs import add_files, gatherer
from envbuilder.wiring.configuration import ACCEPT_NVIDIA_EULA
from envbuilder.wiring.locks import obtain_lock
from envbuilder.wiring.session import Session
from envbuilder.wiring.vendor_archives import refuse_licenses

_START = "from envbuilder.cli.main import entry; entry()"


@click.command("reproduce")
@lock_argument
@source_options
@json_option
def command(target: str | None, sources: Sources, *, as_json: bool) -> None:
    """Build a lock twice under different conditions and compare the images. Exit status 1 if they differ.

    Directory, time zone, locale, umask, hash seed, home and number of jobs differ. No existing layer is reused; only
    missing files are downloaded. Needs space for the files and the image in the cache directory.
    """
    session = command_session(target)
    lock, merged = obtain_lock(session, target, sources)
    refuse_licenses(session, lock, merged)
    layer_format = lock.image.format if lock.image else LayerFormat.GZIP_SPLICED
    add_files(session, lock, merged)
    with session.settings.work_folder("reproduce") as work:
        attempts = reproduce(
            lock,
            (PLAIN, ODD),
            lambda folder, surroundings: _build(folder, surroundings, session, layer_format),
            store=session.store,
            digests=gatherer(session, merged).gather(lock),
            work=work,
        )
    differ = differences(attempts)
    as_locked = lock.image is None or lock.image.manifest == attempts[0].manifest
    if as_json:
        print_json(_document(lock, attempts, differ))
    else:
        _print_attempts(lock, attempts, differ)
    if differ or not as_locked:
        raise click.exceptions.Exit(1)


def _build(folder: Path, surroundings: Surroundings, session: Session, layer_format: LayerFormat) -> BuildAttempt:
    here = session.settings
    session.progress(f"building with {_about(surroundings)}")
    home = folder / "home"
    home.mkdir()
    environ = {
        **{name: value for name, value in here.environ.items() if name in {"PATH", "PYTHONPATH"}},
        **dict(surroundings.environ),
        "HOME": str(home),
        "ENVBUILDER_CACHE": str(folder / "cache"),
        "ENVBUILDER_MATRICES": str(here.matrices),
        # The command itself requires the acceptance.
        ACCEPT_NVIDIA_EULA.variable: "1",
    }
    command = [sys.executable, "-c", _START, "build", "envbuilder.lock", "--engine", "assemble", "--offline", "--json"]
    command += ["--jobs", str(surroundings.jobs), "--layer-format", layer_format.value]
    started = time.monotonic()
    done = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, check=False, umask=surroundings.umask
    )
    if done.returncode:
        tail = "\n".join(done.stderr.splitlines()[-6:])
        raise BuildFailed(f"the build in {surroundings.name} surroundings failed:\n{tail}", step=surroundings.name)
    [image] = json.loads(done.stdout)["images"]
    return BuildAttempt(
        surroundings=surroundings,
        manifest=image["manifest"],
        layers=tuple((layer["id"], layer["digest"]) for layer in image["layers"]),
        seconds=time.monotonic() - started,
    )


def _about(surroundings: Surroundings) -> str:
    """Return the conditions of a build in words."""
    settings = " ".join(f"{name}={value}" for name, value in surroundings.environ)
    jobs = f"{surroundings.jobs} job{'' if surroundings.jobs == 1 else 's'}"
    return f"umask {surroundings.umask:03o}, {jobs}, {settings}"


def _print_attempts(lock: Lock, attempts: tuple[BuildAttempt, ...], differ: tuple[str, ...]) -> None:
    for attempt in attempts:
        click.echo(attempt.manifest)
        click.echo(folded(f"  {attempt.seconds:.1f}s with {_about(attempt.surroundings)}"))
    if differ:
        click.echo(f"the images differ in layers {', '.join(differ)}")
    elif len({attempt.manifest for attempt in attempts}) > 1:
        click.echo("the images differ in their configuration")
    else:
        click.echo(f"{lock.environment}: the images are identical")
    if lock.image and lock.image.manifest != attempts[0].manifest:
        why = "it was created by another version, or its digests are wrong"
        click.echo(f"the lock has {lock.image.manifest}: {why}; run `envbuilder lock`")


def _document(lock: Lock, attempts: tuple[BuildAttempt, ...], differ: tuple[str, ...]) -> dict[str, Any]:
    return document_of(
        documents.Reproduction,
        lock,
        lock=digest(lock),
        locked_manifest=lock.image and lock.image.manifest,
        same=len({attempt.manifest for attempt in attempts}) == 1,
        different_layers=differ,
        attempts=[
            document_of(
                documents.Attempt,
                attempt.surroundings,
                umask=f"{attempt.surroundings.umask:03o}",
                manifest=attempt.manifest,
                seconds=round(attempt.seconds, 3),
            )
            for attempt in attempts
        ],
    )
