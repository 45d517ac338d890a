"""`envbuilder probe`."""

from __future__ import annotations

from pathlib import Path

import click

from envbuilder.cli.output.printing import output_option, write_or_print
from envbuilder.diagnostics.probe.script import probe_source


@click.command("probe")
@output_option
def command(output: Path | None) -> None:
    """Write the probe as one Python file to run on another machine.

    It needs only Python 2.7, or 3.5 and later. Run `python probe.py > facts.json` on that machine, then
    `envbuilder validate --facts facts.json --lock LOCK` here.
    """
    if file := write_or_print(probe_source(), output):
        click.echo(f"next: `python {file.name} > facts.json` on the machine to inspect")
