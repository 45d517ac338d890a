"""`envbuilder build ENV|LOCK…`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from envbuilder.cli.build_options import build_options, selection_options
from envbuilder.cli.context import command_settings
from envbuilder.cli.fan_out import (
    FanOutCommand,
    FanOutRequest,
    fan_out_options,
    refuse_with_on,
    run_elsewhere,
    sent_arguments,
)
from envbuilder.cli.options import engine_option, host_builds_option, source_options
from envbuilder.cli.output.built_images import built_document, print_built
from envbuilder.cli.output.fan_out import BuildOutput
from envbuilder.cli.output.preflight import warn_before_build
from envbuilder.cli.output.printing import json_option, notice, print_json
from envbuilder.cli.output.progress import watched
from envbuilder.cli.output.signatures import print_signed
from envbuilder.cli.sign import opened_key, sign_option
from envbuilder.cluster.execution.executor import WorkItem
from envbuilder.cluster.execution.targets import ExecutionTarget, LocalProcesses
from envbuilder.core.errors import EnvbuilderError, UsageError
from envbuilder.image.builder import BuildOptions, Engine
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lockfile import LOCK, read_lock
from envbuilder.wiring.engines import ENGINES, chosen_engine
from envbuilder.wiring.execution import files_for, work_item
from envbuilder.wiring.image_requests import Selection, checked, image_requests, refuse_shared_names, target_names
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import Settings
from envbuilder.wiring.signing import sign_pushed
from envbuilder.wiring.spec_catalogs import catalog_of_targets


@click.command("build", cls=FanOutCommand)
@click.argument("targets", metavar="[ENV|GLOB|LOCK]...", nargs=-1)
@engine_option(
    "docker: build the rendered Dockerfile. assemble: write layers without a daemon. auto: docker if available."
)
@selection_options
@build_options
@sign_option
@host_builds_option
@fan_out_options()
@source_options
@json_option
def command(  # noqa: PLR0913  one parameter for each group of options
    targets: tuple[str, ...],
    engine: Engine,
    selection: Selection,
    options: BuildOptions,
    signer: Path | None,
    sources: Sources,
    elsewhere: FanOutRequest,
    *,
    as_json: bool,
) -> None:
    """Build the images of environments or locks. Default: envbuilder.lock in the current directory."""
    selection = checked(selection, push=options.push)
    if signer and not options.push:
        raise UsageError("--sign requires --push: signatures are stored in a registry", hint="add --push")
    if options.attestations and options.output is None and elsewhere.on is None:
        raise UsageError("--attestations requires --output", hint="add -o DIR or -o FILE.tar")
    sources = replace(sources, layer_caches=options.cache_from)
    here = command_settings()
    key = opened_key(signer, here) if signer else None
    catalog = catalog_of_targets(here, targets, notice)
    if elsewhere.on:
        items = _items(here, target_names(catalog, targets), selection, options, elsewhere.on)
        run_elsewhere(here, elsewhere.on, items, BuildOutput(), as_json=as_json, again=elsewhere.again)
        return
    with watched(Session(here, catalog, notice), targets[0] if len(targets) == 1 else "lock") as (session, log):
        chosen = chosen_engine(session, engine, selection.features | options.features)
        requests = image_requests(session, targets, selection, sources, offline=options.offline)
        warn_before_build(here, catalog, [request.lock for request in requests])
        try:
            images = ENGINES[chosen].make(session).build(requests, options, session.listener)
        except EnvbuilderError as error:
            error.hint = "; ".join(filter(None, (error.hint, f"full log: {log}")))
            raise
        signed = sign_pushed(session, images, key) if key else ()
    if as_json:
        print_json(built_document(chosen, images, log, signed))
    else:
        print_built(images)
        print_signed(signed)


def _items(
    here: Settings, names: Sequence[str | None], selection: Selection, options: BuildOptions, on: ExecutionTarget
) -> tuple[WorkItem, ...]:
    """Return one build for each environment or lock.

    Raises:
        UsageError: The images would stay on the workers; or they would have the same name.
    """
    one = "build these images one at a time, without --on"
    attached = "omit it: --push attaches them to each image"
    refuse_with_on(output=one, load=one, bundle=one, key=one, attestations=attached)
    if not isinstance(on, LocalProcesses) and not (options.push or options.cache_to):
        raise UsageError(
            "the images would stay on the machines of the cluster",
            hint="add --push --tag REGISTRY/{name}:TAG, or --cache-to REGISTRY/REPOSITORY",
        )
    paths = {name: Path(name).absolute() for name in (each or str(LOCK) for each in names)}
    locks = {name: read_lock(path) for name, path in paths.items() if path.is_file()}
    images = [locks[name].name or locks[name].environment if name in locks else name for name in paths]
    refuse_shared_names(images, selection.tags)
    sent = [str(path) if name in locks else name for name, path in paths.items()]
    return tuple(work_item(here, name, sent_arguments(name), files_for(here, name)) for name in sent)
