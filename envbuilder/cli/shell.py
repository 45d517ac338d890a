"""`envbuilder shell IMAGE|ENV`."""

from __future__ import annotations

import sys
from dataclasses import replace

import click

from envbuilder.cli.container_command import ContainerCommand
from envbuilder.cli.container_options import container_options, run_container
from envbuilder.cli.options import engine_option, runtime_option
from envbuilder.cli.session import command_session
from envbuilder.image.builder import Engine
from envbuilder.image.running.node_runtimes import NodeRuntime
from envbuilder.wiring.containers import ContainerOptions
from envbuilder.wiring.node_runtimes import chosen_runner

_SHELL = ("/bin/sh", "-c", "if command -v bash >/dev/null; then exec bash; else exec sh; fi")


@click.command("shell", cls=ContainerCommand)
@click.argument("image", metavar="IMAGE|ENV")
@engine_option("Where the image is. assemble: in the cache directory, run by kernel namespaces or runc.")
@runtime_option
@container_options
def command(image: str, engine: Engine, runtime: NodeRuntime | None, options: ContainerOptions) -> None:
    """Open a shell in an image, in the current directory: `envbuilder shell tf-2.15-cpu`.

    The shell is bash, or sh if the image has no bash. Without --mount, the current directory is mounted. Everything
    else is as for `envbuilder run`.
    """
    session = command_session()
    here_mounted = replace(options, mounts=options.mounts or (".",))
    chosen = chosen_runner(session, image, engine, runtime)
    sys.exit(run_container(session, chosen, _SHELL, here_mounted))
