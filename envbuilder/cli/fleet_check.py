"""`envbuilder fleet check DIR`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.selection import find, matching
from envbuilder.cli.context import command_settings
from envbuilder.cli.output.fleet import fleet_lines
from envbuilder.cli.output.printing import json_option, notice, width
from envbuilder.cluster.fleet.collection import open_collection
from envbuilder.cluster.fleet.fleet_check import check_fleet, with_constraints
from envbuilder.cluster.fleet.fleet_images import FleetImage, image_of_environment, image_of_lock
from envbuilder.cluster.fleet.node_names import expand_names
from envbuilder.cluster.fleet.report.document import fleet_json
from envbuilder.cluster.fleet.report.formats import fleet_format
from envbuilder.core.errors import UsageError
from envbuilder.core.files import replacing
from envbuilder.lock.lockfile import lock_path, missing_lock, read_lock
from envbuilder.wiring.spec_catalogs import catalog_of_targets

_MOST_CONSTRAINED = 8
"""Most images with constraints for schedulers, each of which takes half a second."""


@click.command("check")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--lock", "locks", metavar="LOCK", multiple=True, help="Lock of an image that the nodes should run. Repeatable."
)
@click.option(
    "--environment",
    "environments",
    metavar="GLOB",
    multiple=True,
    help="Environments of the catalog, each on its best base for a node. Repeatable.",
)
@click.option(
    "--nodes",
    metavar="LIST",
    default="",
    help="Check only these nodes, such as gpu[001-212]; all of them are expected.",
)
@click.option(
    "--since",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Earlier collection of the same nodes: report what has changed.",
)
@click.option(
    "-o",
    "--output",
    "outputs",
    type=click.Path(dir_okay=False, path_type=Path),
    multiple=True,
    help="Also write the report to a file: .html, .json, .md or .xml (JUnit). Repeatable.",
)
@json_option
def command(  # noqa: PLR0913  one parameter for each option
    folder: Path,
    locks: tuple[str, ...],
    environments: tuple[str, ...],
    nodes: str,
    since: Path | None,
    outputs: tuple[Path, ...],
    *,
    as_json: bool,
) -> None:
    """Judge all nodes of a cluster together: where each image runs, why not elsewhere, and what to change.

    DIR has the facts that the script of `fleet probe` collects. Exit status 1 if an image does not run on a node (a GPU
    image that would run on the processor counts as not running), or if an expected node did not answer.
    """
    catalog = catalog_of_targets(command_settings(), locks, notice)
    images = tuple({image.name: image for image in _images(catalog, locks, environments)}.values())
    if not images:
        raise UsageError("no image to judge", hint="--lock envbuilder.lock, or --environment 'tf-2.15*'")
    writers = {file: fleet_format(file) for file in outputs}
    collection = open_collection(folder, expand_names(nodes))
    report = check_fleet(catalog, images, collection, open_collection(since) if since else None)
    if len(images) <= _MOST_CONSTRAINED:
        report = with_constraints(report, catalog)
    else:
        notice(f"constraints for schedulers are left out: more than {_MOST_CONSTRAINED} images")
    for file, write in writers.items():
        with replacing(file) as stream:
            stream.write(write(report).encode("utf-8", "backslashreplace"))
    click.echo(fleet_json(report) if as_json else "\n".join(fleet_lines(report, width())), nl=not as_json)
    if not report.passed:
        raise click.exceptions.Exit(1)


def _images(catalog: Catalog, locks: tuple[str, ...], environments: tuple[str, ...]) -> Iterator[FleetImage]:
    """Yield the images of locks, then of environments."""
    for name in locks:
        path = lock_path(name)
        if path is None:
            raise missing_lock(name, hint=f"for an environment of the catalog: --environment {name}")
        lock = read_lock(path)
        yield image_of_lock(str(path), find(catalog, lock.environment), lock)
    for pattern in environments:
        yield from map(image_of_environment, matching(catalog, pattern))
