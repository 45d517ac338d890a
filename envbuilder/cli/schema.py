"""`envbuilder schema [NAME]`."""

from __future__ import annotations

import difflib

import click

from envbuilder.cli.documents.schemas import DOCUMENTS
from envbuilder.cli.output.printing import print_json, table
from envbuilder.core.errors import UsageError


@click.command("schema")
@click.argument("words", metavar="[NAME]", nargs=-1)
def command(words: tuple[str, ...]) -> None:
    """Print the JSON Schema (draft 2020-12) of a document, or list the documents.

    NAME is a command, such as `validate` or `cache list`, for what it prints with --json; or spec, lock-file,
    prioritized-files, facts or error. Within schema 1 of a document, fields may be added; none is removed or changes
    its meaning.
    """
    name = " ".join(words)
    if not name:
        click.echo(table(("NAME", "DOCUMENT"), [(each, document.title) for each, document in DOCUMENTS.items()]))
        return
    if name not in DOCUMENTS:
        near = difflib.get_close_matches(name, DOCUMENTS, 1)
        meant = f"did you mean `envbuilder schema {near[0]}`?" if near else "`envbuilder schema` lists them"
        raise UsageError(f"there is no document {name!r}", hint=meant)
    print_json(DOCUMENTS[name].schema())
