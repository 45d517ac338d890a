"""`envbuilder catalog availability [GLOB]`."""

from __future__ import annotations

from typing import Any

import click

from envbuilder.catalog.selection import matching
from envbuilder.cli.context import command_settings
from envbuilder.cli.documents import maintenance as documents
from envbuilder.cli.options import source_options
from envbuilder.cli.output.printing import folded, json_option, notice, print_json
from envbuilder.core.structure import document_of
from envbuilder.curation.availability import Availability, availability
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.wiring.catalogs import known_catalog
from envbuilder.wiring.session import Session
from envbuilder.wiring.shipped_packages import closures
from envbuilder.wiring.sources import package_index


@click.command("availability")
@click.argument("pattern", metavar="[GLOB]", default="*")
@source_options
@json_option
def command(pattern: str, sources: Sources, *, as_json: bool) -> None:
    """Check that the index still has all files of the bundled locks of environments that match GLOB.

    Intended for a scheduled job. Exit status 1 if a file is missing or was replaced, 5 if the index does not answer.
    """
    here = command_settings()
    catalog = known_catalog(here, progress=notice)
    session = Session(here, catalog, notice)
    index = package_index(session.settings, sources)
    seen: list[Availability] = []
    for row in matching(catalog, pattern):
        found = availability(row.id, closures(here, catalog).read(row.id), index)
        seen.append(found)
        if not as_json:
            _print_availability(found)
    if as_json:
        print_json({"schema": 1, "environments": [_document(found) for found in seen]})
    else:
        gone = sum(len(found.vanished) for found in seen)
        environments = f"{len(seen)} environment{'' if len(seen) == 1 else 's'}"
        click.echo(f"{environments}, {sum(found.files for found in seen)} files, {gone} missing")
    if not all(found.complete for found in seen):
        raise click.exceptions.Exit(1)


def _print_availability(found: Availability) -> None:
    if found.complete:
        click.echo(f"{found.row}: all {found.files} files are there")
    elif not found.closures:
        click.echo(
            f"{found.row}: has no bundled lock; `envbuilder catalog prove --tier resolved {found.row}` creates it"
        )
    else:
        click.echo(f"{found.row}: {len(found.vanished)} of {found.files} files are missing")
        for each in found.vanished:
            fate = "the index has another file under this name" if each.replaced else "the index does not list it"
            click.echo(folded(f"  {each.file.file} (Python {each.python}): {fate}"))


def _document(found: Availability) -> dict[str, Any]:
    return document_of(
        documents.EnvironmentFiles,
        found,
        id=found.row,
        missing=[
            document_of(documents.VanishedFile, each.file, python=each.python, bases=each.bases, replaced=each.replaced)
            for each in found.vanished
        ],
    )
