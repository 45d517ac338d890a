"""`envbuilder diff A B`."""

from __future__ import annotations

from pathlib import Path

import click

from envbuilder.cli.output.lock_changes import change_document, print_changes
from envbuilder.cli.output.printing import json_option, print_json
from envbuilder.lock.diff import compare
from envbuilder.lock.lockfile import read_lock

_LOCK = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("diff")
@click.argument("old", type=_LOCK)
@click.argument("new", type=_LOCK)
@json_option
def command(old: Path, new: Path, *, as_json: bool) -> None:
    """Compare two locks. Exit status 1 if they differ."""
    changes = compare(read_lock(old), read_lock(new))
    if as_json:
        print_json({"schema": 1, "changes": [change_document(change) for change in changes]})
    elif changes:
        print_changes(changes)
    else:
        click.echo("no differences")
    if changes:
        raise click.exceptions.Exit(1)
