"""`envbuilder run IMAGE|ENV COMMAND…`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from envbuilder.cli.container_command import ContainerCommand
from envbuilder.cli.container_options import container_options, refuse_late_option, run_container
from envbuilder.cli.jupyter import ServerOptions, serve, server_options
from envbuilder.cli.options import engine_option, runtime_option
from envbuilder.cli.session import command_session
from envbuilder.core.errors import UsageError
from envbuilder.image.builder import Engine
from envbuilder.image.running.node_runtimes import NodeRuntime
from envbuilder.wiring.containers import ContainerOptions
from envbuilder.wiring.node_runtimes import chosen_runner, recording_runner


@click.command("run", cls=ContainerCommand, context_settings={"allow_interspersed_args": False})
@click.argument("image", metavar="IMAGE|ENV", required=False)
@click.argument("words", metavar="COMMAND...", nargs=-1, type=click.UNPROCESSED)
@engine_option("Where the image is. assemble: in the cache directory, run by kernel namespaces or runc.")
@runtime_option
@click.option(
    "--record-reads",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write which files of an assembled image the command opens, for `prioritized_files:` of a spec.",
)
@server_options
@container_options
def command(  # noqa: PLR0913  one parameter for each group of options
    image: str | None,
    words: tuple[str, ...],
    engine: Engine,
    runtime: NodeRuntime | None,
    record_reads: Path | None,
    server: ServerOptions,
    options: ContainerOptions,
) -> None:
    """Run a command in an image: `envbuilder run --mount . tf-2.4-cuda11.0 python train.py`.

    Standard input, output and the terminal are connected to the command, and the exit status is that of the command.
    The container is removed afterwards, with its changes of the image: write files to keep to a --mount, or use --keep.
    IMAGE may be a file of Apptainer (.sif, .sqsh).
    """
    if server.is_named:
        if record_reads:
            raise UsageError("--record-reads cannot be combined with a server", hint="record the command that it runs")
        sys.exit(serve(image, words, engine, runtime, server, options))
    if image is None:
        raise UsageError("an image and a command are required", hint="`envbuilder run IMAGE -- python train.py`")
    session = command_session()
    chosen = (
        recording_runner(session, image, engine, runtime, record_reads)
        if record_reads
        else chosen_runner(session, image, engine, runtime)
    )
    sys.exit(run_container(session, chosen, _command(words), options))


def _command(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command without the `--` that often precedes it."""
    refuse_late_option(words)
    given = words[1:] if words[:1] == ("--",) else words
    if not given:
        raise UsageError("no command after the image", hint="`envbuilder run IMAGE -- python train.py`")
    return given
