"""`envbuilder schema NAME`."""

from __future__ import annotations

import click

from envbuilder.diagnostics.report.json_format import report_schema

# By what it describes; a document that programs read gets its line here.
_SCHEMAS = {"report": report_schema}


@click.command("schema")
@click.argument("name", type=click.Choice(sorted(_SCHEMAS)))
def command(name: str) -> None:
    """Print the JSON Schema (draft 2020-12) of a document that programs read.

    report: what `envbuilder validate --json` and `envbuilder check --json` print.
    """
    click.echo(_SCHEMAS[name](), nl=False)
