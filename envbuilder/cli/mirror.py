"""`envbuilder mirror ENV|LOCK… HOST/NAME`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import click

from envbuilder.cli.documents import images as documents
from envbuilder.cli.options import REPOSITORY, source_options
from envbuilder.cli.output.missing_files import missing_documents, print_missing, refuse_missing
from envbuilder.cli.output.printing import folded, json_option, print_json
from envbuilder.cli.output.progress import watched
from envbuilder.cli.session import command_session
from envbuilder.core.structure import document_of
from envbuilder.core.units import size
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.wiring.mirroring import Mirrored, mirror_inputs


@click.command("mirror")
@click.argument("targets", metavar="[ENV|LOCK]...", nargs=-1)
@click.argument("repository", metavar="HOST[:PORT]/NAME", type=REPOSITORY)
@source_options
@json_option
def command(targets: Sequence[str], repository: str, sources: Sources, *, as_json: bool) -> None:
    """Send every file that locks need to a repository of a registry.

    A lock can be built from it when package index, package archives and publishers no longer have its files: specify
    the repository with --mirror, `sources.mirror` or ENVBUILDER_MIRROR. Files that it already has are not sent again.
    In the repository of the image of the lock, the files are attached to the image.
    """
    with watched(command_session(*targets), "mirror") as (session, _log), session.store.used():
        outcomes = mirror_inputs(session, targets, sources, repository)
    if as_json:
        print_json({"schema": 1, "repository": repository, "locks": [_document(each) for each in outcomes]})
    else:
        for each in outcomes:
            _print(each)
    missing = tuple(chain.from_iterable(each.missing for each in outcomes))
    if missing:
        refuse_missing(missing)
    if not as_json:
        click.echo(folded(f"next: `envbuilder build --mirror {repository}`, or `sources: mirror:` in the spec"))


def _document(outcome: Mirrored) -> dict[str, Any]:
    push = outcome.push
    return document_of(
        documents.MirroredLock,
        outcome,
        reference=push and push.reference,
        digest=push and push.digest,
        files=push and push.pushed_layers + push.present_layers,
        sent_files=push and push.pushed_layers,
        sent_bytes=push and push.pushed_bytes,
        missing=missing_documents(outcome.missing),
    )


def _print(outcome: Mirrored) -> None:
    print_missing(outcome.missing)
    push = outcome.push
    if push is None:
        click.echo(f"{outcome.environment}: nothing was sent, as files are missing")
        return
    count = push.pushed_layers + push.present_layers
    click.echo(f"{push.reference}: {count} files of {outcome.environment}")
    click.echo(f"  sent: {push.pushed_layers} files, {size(push.pushed_bytes)}; {push.present_layers} already present")
    click.echo(
        f"  {f'attached to {outcome.image}' if outcome.image else 'not attached: the repository lacks the image'}"
    )
    if outcome.base:
        click.echo(f"  not among the files: the base {outcome.base}, which a build pulls from its registry")
