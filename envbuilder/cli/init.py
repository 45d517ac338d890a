"""`envbuilder init ENV`."""

from __future__ import annotations

from pathlib import Path

import click

from envbuilder.catalog.selection import named
from envbuilder.cli.context import command_settings
from envbuilder.cli.output.printing import notice
from envbuilder.core.errors import UsageError
from envbuilder.core.files import write_text
from envbuilder.image.dockerfile.spec_file import render_spec
from envbuilder.wiring.catalogs import known_catalog


@click.command("init")
@click.argument("environment", metavar="ENV")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("envbuilder.yaml"),
    show_default=True,
    help="File to write.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def command(environment: str, output: Path, *, force: bool) -> None:
    """Write a commented envbuilder.yaml for the environment ENV."""
    here = command_settings()
    row = named(known_catalog(here, progress=notice), environment)
    if output.exists() and not force:
        raise UsageError(f"{output} already exists", hint="choose another file with -o, or overwrite it with --force")
    write_text(output, render_spec(row, here.templates))
    click.echo(f"wrote {output}")
    click.echo(f"next: edit it, then `envbuilder lock{'' if output.name == 'envbuilder.yaml' else f' {output}'}`")
