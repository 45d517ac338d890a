"""`envbuilder fleet probe`."""

from __future__ import annotations

from pathlib import Path

import click

from envbuilder.cli.context import command_settings
from envbuilder.cli.options import EnumChoice
from envbuilder.cli.output.printing import output_option, write_or_print
from envbuilder.cluster.fleet.node_names import expand_names
from envbuilder.cluster.fleet.probe_scripts import Launcher, ProbeScript, render_script


@click.command("probe")
@click.option(
    "--on",
    "launcher",
    required=True,
    type=EnumChoice(Launcher),
    help="What starts the probe on the nodes. local: run the script on each node yourself.",
)
@click.option(
    "--nodes",
    metavar="LIST",
    default="",
    help="Expected nodes, such as gpu[001-212],login. Default: all nodes that the scheduler lists; required for ssh.",
)
@click.option(
    "--image", metavar="REF", default="", help="kubernetes: image of the pods, with Python 2.7, or 3.5 and later."
)
@click.option(
    "--runtime-class", metavar="NAME", default="", help="kubernetes: runtime class that makes GPUs visible to pods."
)
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("facts"),
    show_default=True,
    help="Directory of the facts, if the script is called without one.",
)
@output_option
def command(  # noqa: PLR0913  one parameter for each option
    launcher: Launcher, nodes: str, image: str, runtime_class: str, directory: Path, output: Path | None
) -> None:
    """Write a script that runs the probe on every node and collects one file of facts for each in a directory.

    Nothing is run by this command. Nodes need only Python 2.7, or 3.5 and later. The script writes the list of expected
    nodes beside the facts, so that a node that does not answer is reported as not proven.
    """
    script = ProbeScript(
        launcher=launcher,
        nodes=expand_names(nodes),
        directory=str(directory),
        image=image,
        runtime_class=runtime_class,
    )
    text = render_script(script, command_settings().templates)
    if write_or_print(text.encode(), output):
        click.echo(f"next: `bash {output}`, then `envbuilder fleet check {directory} --lock LOCK`")
