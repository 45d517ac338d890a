"""`envbuilder fetch ENV|LOCK… -o DIR`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from envbuilder.cli.documents import images as documents
from envbuilder.cli.options import source_options
from envbuilder.cli.output.missing_files import missing_documents, print_missing, refuse_missing
from envbuilder.cli.output.printing import json_option, print_json
from envbuilder.cli.output.progress import watched
from envbuilder.cli.session import command_session
from envbuilder.core.structure import document_of
from envbuilder.core.units import size
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.wiring.fetching import Fetched, fetch_files


@click.command("fetch")
@click.argument("targets", metavar="[ENV|LOCK]...", nargs=-1)
@click.option("-o", "--output", type=click.Path(file_okay=False, path_type=Path), required=True, help="Directory.")
@click.option("--offline", is_flag=True, help="Use the directory and the cache directory only; download nothing.")
@source_options
@json_option
def command(targets: Sequence[str], output: Path, sources: Sources, *, offline: bool, as_json: bool) -> None:
    """Fetch every file that locks need into a directory.

    Files that the directory has are verified and not fetched again, so the command can be repeated after an error.
    With --offline on another machine, it copies the files of the directory into the cache directory there.
    """
    with watched(command_session(*targets), "fetch") as (session, _log), session.store.used():
        fetched = fetch_files(session, targets, sources, output, offline=offline)
    if as_json:
        print_json(_document(fetched, output))
    else:
        _print(fetched, output)
    if fetched.missing:
        refuse_missing(fetched.missing)


def _document(fetched: Fetched, output: Path) -> dict[str, Any]:
    return document_of(
        documents.FetchDocument,
        fetched,
        directory=output,
        files=len(fetched.files),
        bytes=fetched.size,
        bases=fetched.registry_bases,
        missing=missing_documents(fetched.missing),
    )


def _print(fetched: Fetched, output: Path) -> None:
    count = len(fetched.files)
    click.echo(f"{output}: {count} {'file' if count == 1 else 'files'}, {size(fetched.size)}")
    for base in fetched.registry_bases:
        click.echo(f"not in the directory: the base {base}, which a build pulls from its registry")
    print_missing(fetched.missing)
    if not fetched.missing:
        for lock in fetched.locks:
            click.echo(f"next: on another machine, `envbuilder fetch {lock} -o {output} --offline`")
