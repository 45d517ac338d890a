"""`envbuilder probe`."""

from __future__ import annotations

from pathlib import Path

import click

from envbuilder.core.files import replacing
from envbuilder.diagnostics.probe.script import probe_source


@click.command("probe")
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write. Default: standard output."
)
def command(output: Path | None) -> None:
    """Write the probe as one Python file to run on another machine.

    It needs only Python 2.7, or 3.5 and later. Run `python probe.py > facts.json` on that machine, then
    `envbuilder validate --facts facts.json --lock LOCK` here.
    """
    if output is None:
        click.echo(probe_source(), nl=False)
        return
    with replacing(output) as stream:
        stream.write(probe_source())
    click.echo(f"wrote {output}")
    click.echo(f"next: `python {output.name} > facts.json` on the machine to inspect")
