"""`envbuilder build --engine docker`: the rendered Dockerfile, built by the engine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from envbuilder.cli.output.printing import folded, size, table
from envbuilder.core.references import ImageRef
from envbuilder.image.build import BuildOptions, build, default_tags
from envbuilder.image.builds import Builder, BuildResult
from envbuilder.image.container_engine import Listener
from envbuilder.image.dockerfile.step_names import step_title
from envbuilder.lock.lock import Lock, Sources
from envbuilder.lock.lockfile import digest
from envbuilder.oci.transfers import PushResult
from envbuilder.wiring.adapters import Composition


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerSettings:
    """The options that only this engine has.

    Attributes:
        tags: `repository:tag`; empty means the default ones.
        builder: None lets the engine decide.
        use_cache: False builds every layer again.
        push: Push every tag.
    """

    tags: tuple[str, ...]
    builder: Builder | None
    use_cache: bool
    push: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Everything that is told about a finished build."""

    lock: Lock
    tags: tuple[str, ...]
    result: BuildResult
    pushes: tuple[PushResult, ...]
    log: Path


def build_with_docker(  # noqa: PLR0913  what one build needs
    composition: Composition, lock: Lock, sources: Sources, settings: DockerSettings, listener: Listener, log: Path
) -> Outcome:
    """Build one lock."""
    composition.provide_tools(lock, sources)
    here = composition.settings
    options = BuildOptions(
        tags=settings.tags,
        builder=settings.builder,
        use_cache=settings.use_cache,
        proxies=here.proxies,
        host=composition.host_files(lock, sources),
    )
    result = build(lock, options, composition.build_ports(sources), listener)
    tags = settings.tags if settings.push else ()
    pushes = tuple(composition.engine.push(ImageRef.parse(tag), listener) for tag in tags)
    return Outcome(lock=lock, tags=settings.tags or default_tags(lock), result=result, pushes=pushes, log=log)


def tell(outcome: Outcome) -> None:
    """Say what was built."""
    result = outcome.result
    rows = [(size(layer.size).rjust(8), step_title(layer.created_by)) for layer in result.layers]
    click.echo(table(("SIZE".rjust(8), "LAYER"), rows))
    click.echo("")
    built = f"{size(result.image.size)} in {result.seconds:.1f}s by {result.builder.value}"
    click.echo(f"{outcome.lock.environment}: {built}")
    for tag in outcome.tags:
        click.echo(f"  {tag}")
    for push in outcome.pushes:
        tell_push(push)
    for deviation in outcome.lock.differences:
        click.echo(folded(f"deviation: {deviation}"))
    click.echo(f"next: `envbuilder validate {outcome.tags[0]}`")


def document(outcome: Outcome) -> dict[str, object]:
    """The same for a machine."""
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
        "engine": "docker",
        "pushed": [pushed(push) for push in outcome.pushes],
        "deviations": list(lock.differences),
        "log": str(outcome.log),
    }


def tell_push(push: PushResult) -> None:
    """Say what a push sent."""
    sent = f"{size(push.pushed_bytes)} in {push.pushed_layers} layers, {push.present_layers} were there"
    click.echo(f"pushed {push.reference}: {sent}; {push.seconds:.1f}s")
    click.echo(f"  {push.digest}")


def pushed(push: PushResult) -> dict[str, object]:
    """A push for a machine."""
    return {
        "reference": push.reference,
        "digest": push.digest,
        "bytes": push.pushed_bytes,
        "layers": push.pushed_layers,
        "present": push.present_layers,
        "seconds": round(push.seconds, 3),
    }
