"""`envbuilder build ENV|LOCK`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click
from packaging.version import Version

from envbuilder.building.engine import Listener
from envbuilder.catalog.loading import load_catalog
from envbuilder.cli.composition import Composition
from envbuilder.cli.locks import obtain_lock
from envbuilder.cli.options import source_options, tensorflow_option
from envbuilder.cli.output import folded, json_option, print_json, size, table
from envbuilder.cli.places import places
from envbuilder.cli.watching import watched
from envbuilder.errors import EnvbuilderError, UsageError
from envbuilder.locking.lockfile import digest
from envbuilder.model.builds import Builder, BuildResult, PushResult
from envbuilder.model.locks import Lock, Sources
from envbuilder.model.refs import ImageRef
from envbuilder.rendering.steps import step_title
from envbuilder.workflows.build import BuildOptions, build, default_tags


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The options of one build."""

    tags: tuple[str, ...]
    builder: Builder | None
    use_cache: bool
    push: bool
    as_json: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Everything that is told about a finished build."""

    lock: Lock
    tags: tuple[str, ...]
    result: BuildResult
    pushes: tuple[PushResult, ...]
    log: Path


@click.command("build")
@click.argument("target", metavar="[ENV|LOCK]", required=False)
@click.option("-t", "--tag", "tags", multiple=True, metavar="NAME[:TAG]", help="Default: envbuilder/ENV:latest.")
@click.option("--base", default="", metavar="ID", help="Base to use for a row, instead of the first that can be had.")
@tensorflow_option
@click.option("--builder", type=click.Choice(["auto", "buildkit", "classic"]), default="auto", show_default=True)
@click.option("--no-cache", is_flag=True, help="Build every layer again.")
@click.option("--push", is_flag=True, help="Push every tag to the registry in its name.")
@source_options
@json_option
def command(  # noqa: PLR0913  one parameter for each option
    target: str | None,
    sources: Sources,
    tags: tuple[str, ...],
    base: str,
    tensorflow: Version | None,
    builder: str,
    *,
    no_cache: bool,
    push: bool,
    as_json: bool,
) -> None:
    """Build the image of ENV, of a lock, or of the envbuilder.lock in this folder."""
    settings = Settings(
        tags=_references(tags),
        builder=None if builder == "auto" else Builder(builder),
        use_cache=not no_cache,
        push=push,
        as_json=as_json,
    )
    if push and not tags:
        raise UsageError("--push needs a registry", hint="name it in a tag: --tag localhost:5000/team/tf:1")
    here = places()
    with watched(here, target or "lock") as (listener, log):
        composition = Composition(here, load_catalog(here.matrices), listener=listener)
        lock, merged = obtain_lock(composition, target, sources, base=base, tensorflow=tensorflow)
        composition.add_archives(merged)
        composition.provide_tools(lock)
        try:
            result, pushes = _run(composition, lock, merged, settings, listener)
        except EnvbuilderError as error:
            error.hint = "; ".join(filter(None, (error.hint, f"full log: {log}")))
            raise
    outcome = Outcome(lock=lock, tags=settings.tags or default_tags(lock), result=result, pushes=pushes, log=log)
    if as_json:
        print_json(_document(outcome))
    else:
        _tell(outcome)


def _run(
    composition: Composition, lock: Lock, sources: Sources, settings: Settings, listener: Listener
) -> tuple[BuildResult, tuple[PushResult, ...]]:
    here = composition.places
    options = BuildOptions(
        tags=settings.tags,
        builder=settings.builder,
        use_cache=settings.use_cache,
        proxies=here.proxies,
        host=composition.host_files(lock, sources),
    )
    result = build(lock, options, composition.build_ports(sources), listener)
    if not settings.push:
        return result, ()
    return result, tuple(composition.engine.push(ImageRef.parse(tag), listener) for tag in settings.tags)


def _references(tags: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return tuple(str(ImageRef.parse(tag)) for tag in tags)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _tell(outcome: Outcome) -> None:
    result = outcome.result
    rows = [(size(layer.size).rjust(8), step_title(layer.created_by)) for layer in result.layers]
    click.echo(table(("SIZE".rjust(8), "LAYER"), rows))
    click.echo("")
    built = f"{size(result.image.size)} in {result.seconds:.1f}s by {result.builder.value}"
    click.echo(f"{outcome.lock.environment}: {built}")
    for tag in outcome.tags:
        click.echo(f"  {tag}")
    for push in outcome.pushes:
        sent = f"{size(push.pushed_bytes)} in {push.pushed_layers} layers, {push.present_layers} were there"
        click.echo(f"pushed {push.reference}: {sent}; {push.seconds:.1f}s")
        click.echo(f"  {push.digest}")
    for deviation in outcome.lock.deviations:
        click.echo(folded(f"deviation: {deviation}"))
    click.echo(f"next: `envbuilder validate {outcome.tags[0]}`")


def _document(outcome: Outcome) -> dict[str, object]:
    lock, result = outcome.lock, outcome.result
    return {
        "schema": 1,
        "environment": lock.environment,
        "lock": digest(lock),
        "image": {"id": result.image.id, "tags": list(outcome.tags), "size": result.image.size},
        "base": lock.base.id,
        "builder": result.builder.value,
        "seconds": round(result.seconds, 3),
        "layers": [{"created_by": layer.created_by, "size": layer.size} for layer in result.layers],
        "steps": [
            {"name": step.name, "seconds": round(step.seconds, 3), "cached": step.cached} for step in result.steps
        ],
        "pushed": [
            {
                "reference": push.reference,
                "digest": push.digest,
                "bytes": push.pushed_bytes,
                "layers": push.pushed_layers,
                "present": push.present_layers,
                "seconds": round(push.seconds, 3),
            }
            for push in outcome.pushes
        ],
        "deviations": list(lock.deviations),
        "log": str(outcome.log),
    }
