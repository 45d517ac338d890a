"""`envbuilder build ENV|LOCK…`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click
from packaging.version import Version

from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.load.catalog import load_catalog
from envbuilder.catalog.selection import matching
from envbuilder.cli import build_assemble, build_docker
from envbuilder.cli.context import command_settings
from envbuilder.cli.options import host_builds_option, source_options, tensorflow_option
from envbuilder.cli.output.preflight import warn_before_build
from envbuilder.cli.output.printing import json_option, notice, print_json
from envbuilder.cli.output.watching import watched
from envbuilder.core.errors import EngineUnavailable, EnvbuilderError, UsageError
from envbuilder.core.references import ImageRef
from envbuilder.image.builds import Builder
from envbuilder.lock.lock import Lock, Sources
from envbuilder.oci.images import LayerFormat
from envbuilder.wiring.adapters import Composition
from envbuilder.wiring.bundles import opened_bundle
from envbuilder.wiring.image_names import REFERENCE
from envbuilder.wiring.locks import keep_image, obtain_lock

_FORMATS = click.Choice([each.value for each in LayerFormat])


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to build, and with what.

    Attributes:
        targets: Rows, globs over rows, or locks; empty means the lock in this folder.
        base: Base for rows.
        tensorflow: Patch release for rows.
        sources: Where to fetch from.
        engine: `auto`, `docker` or `assemble`.
        bundle: File that holds everything that locks need.
        key: Public keys, one of which must have signed the bundle; None for any bundle.
    """

    targets: tuple[str, ...]
    base: str
    tensorflow: Version | None
    sources: Sources
    engine: str
    bundle: Path | None
    key: Path | None = None


@click.command("build")
@click.argument("targets", metavar="[ENV|GLOB|LOCK]...", nargs=-1)
@click.option(
    "--engine",
    type=click.Choice(["auto", "docker", "assemble"]),
    default="auto",
    show_default=True,
    help="docker: the rendered Dockerfile. assemble: layers written directly, no daemon. auto: docker if it answers.",
)
@click.option(
    "-t",
    "--tag",
    "tags",
    multiple=True,
    metavar="NAME[:TAG]",
    help="Default: envbuilder/NAME:latest; NAME is the environment, or `name:` of the spec.",
)
@click.option("--base", default="", metavar="ID", help="Base to use for a row, instead of the first that can be had.")
@tensorflow_option
@click.option("--push", is_flag=True, help="Push every tag to the registry in its name.")
@click.option("--builder", type=click.Choice(["auto", "buildkit", "classic"]), default="auto", help="docker: builder.")
@click.option("--no-cache", is_flag=True, help="docker: build every layer again.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="assemble: write a folder (OCI layout), a .tar (OCI archive, docker load) or a .sqsh (Apptainer, enroot).",
)
@click.option("--load", is_flag=True, help="assemble: give the image to the container engine; only what it lacks.")
@click.option("--layer-format", type=_FORMATS, default="gzip-spliced", show_default=True, help="assemble: packing.")
@click.option("--jobs", type=click.IntRange(0), default=0, help="assemble: layers made at once. Default: processors.")
@click.option("--offline", is_flag=True, help="assemble: download nothing; use the cache folder and --bundle.")
@click.option(
    "--bundle",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="assemble: take lock and files from a bundle.",
)
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="PUBLIC",
    help="With --bundle: refuse it unless one of these SSH keys signed it.",
)
@host_builds_option
@source_options
@json_option
def command(  # noqa: PLR0913  one parameter for each option
    targets: tuple[str, ...],
    engine: str,
    sources: Sources,
    tags: tuple[str, ...],
    base: str,
    tensorflow: Version | None,
    builder: str,
    output: Path | None,
    layer_format: str,
    jobs: int,
    bundle: Path | None,
    key: Path | None,
    *,
    no_cache: bool,
    push: bool,
    load: bool,
    offline: bool,
    as_json: bool,
) -> None:
    """Build the images of ENVs, of locks, or of the envbuilder.lock in this folder."""
    if push and not tags:
        raise UsageError("--push needs a registry", hint="name it in a tag: --tag localhost:5000/team/tf:1")
    wanted = Wanted(
        targets=targets, base=base, tensorflow=tensorflow, sources=sources, engine=engine, bundle=bundle, key=key
    )
    names = _references(tags)
    docker = build_docker.DockerSettings(
        tags=names, builder=None if builder == "auto" else Builder(builder), use_cache=not no_cache, push=push
    )
    assembling = build_assemble.AssembleSettings(
        tags=names,
        format=LayerFormat(layer_format),
        output=output,
        load=load,
        push=push,
        jobs=jobs,
        offline=offline,
    )
    here = command_settings()
    catalog = load_catalog(here.matrices)
    with watched(here, targets[0] if len(targets) == 1 else "lock") as (listener, log):
        composition = Composition(here, catalog, notice, listener=listener)
        chosen = _engine(composition, wanted, assembling)
        locks = _locks(composition, catalog, wanted, offline=offline)
        _refuse_shared_names(locks, names)
        warn_before_build(here, catalog, [lock for lock, _ in locks])
        for _, merged in locks:
            composition.add_archives(merged)
        try:
            if chosen == "docker":
                outcomes = [
                    build_docker.build_with_docker(composition, lock, merged, docker, listener, log)
                    for lock, merged in locks
                ]
            else:
                outcome = build_assemble.build_by_assembling(
                    composition, [lock for lock, _ in locks], locks[0][1], assembling, listener, log
                )
        except EnvbuilderError as error:
            error.hint = "; ".join(filter(None, (error.hint, f"full log: {log}")))
            raise
    if chosen == "docker":
        _tell_docker(outcomes, as_json=as_json)
        return
    for assembled in outcome.assembly.images:
        keep_image(composition, assembled.lock)
    if as_json:
        print_json(build_assemble.document(outcome))
    else:
        build_assemble.tell(outcome)


def _tell_docker(outcomes: list[build_docker.Outcome], *, as_json: bool) -> None:
    documents = [build_docker.document(each) for each in outcomes]
    if as_json:
        print_json(documents[0] if len(documents) == 1 else {"schema": 1, "builds": documents})
        return
    for each in outcomes:
        build_docker.tell(each)


def _engine(composition: Composition, wanted: Wanted, settings: build_assemble.AssembleSettings) -> str:
    """Which engine builds: the one that was named, or the one that an option belongs to, or Docker if it answers."""
    if wanted.key and not wanted.bundle:
        raise UsageError("--key checks the signature of a bundle", hint="name the bundle: --bundle FILE")
    only_assembling = settings.output or settings.load or settings.offline or wanted.bundle
    if wanted.engine == "docker" and only_assembling:
        raise UsageError(
            "--output, --load, --offline and --bundle belong to the engine assemble", hint="--engine assemble"
        )
    if wanted.engine != "auto":
        return wanted.engine
    if only_assembling:
        return "assemble"
    try:
        composition.engine.info()
    except EngineUnavailable:
        composition.say("no container engine answers; assembling the image without one")
        return "assemble"
    return "docker"


def _locks(composition: Composition, catalog: Catalog, wanted: Wanted, *, offline: bool) -> list[tuple[Lock, Sources]]:
    if wanted.bundle:
        if wanted.targets:
            raise UsageError("a bundle holds its own lock", hint="leave the environment out")
        lock = opened_bundle(composition, wanted.bundle, wanted.sources, wanted.key, offline=offline)
        return [(lock, wanted.sources)]
    names: list[str | None] = []
    for target in wanted.targets or (None,):
        is_glob = target is not None and set(target) & set("*?[") and not Path(target).exists()
        names += [row.id for row in matching(catalog, target)] if is_glob and target else [target]
    return [
        obtain_lock(composition, name, wanted.sources, base=wanted.base, tensorflow=wanted.tensorflow)
        for name in dict.fromkeys(names)
    ]


def _refuse_shared_names(locks: list[tuple[Lock, Sources]], tags: tuple[str, ...]) -> None:
    if tags and len(locks) > 1:
        raise UsageError("several images cannot have the same name", hint="leave --tag out, or build one at a time")
    names = [lock.name or lock.environment for lock, _ in locks]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(
            f"several images would have the name {twice[0]}", hint="give each spec a `name:`, or build one at a time"
        )


def _references(tags: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return tuple(str(ImageRef.parse(tag)) for tag in tags)
    except ValueError as error:
        raise UsageError(f"--tag: {error}", hint=REFERENCE) from error
