"""Options of commands that run something in a container, which is connected to this process."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import click

from envbuilder.cli.options import MEMORY, device_option, grouped
from envbuilder.core.errors import UsageError
from envbuilder.image.run import FollowingEngine, prepare
from envbuilder.oci.runtime.command import Console
from envbuilder.oci.runtime.terminals import is_usable
from envbuilder.wiring.containers import ContainerOptions, container_request
from envbuilder.wiring.session import Session

container_options = grouped(
    "options",
    ContainerOptions,
    click.option(
        "--mount",
        "mounts",
        multiple=True,
        metavar="DIR[:PATH[:ro]]",
        help="Directory of this host to mount, read-only with `:ro`; the command runs as you. Repeatable.",
    ),
    click.option(
        "--keep",
        metavar="NAME|DIR",
        default="",
        help="Keep changes of the image under a name, or in DIR (with a slash), for the next run with the same value. "
        "Default: discard them.",
    ),
    click.option(
        "-p",
        "--publish",
        "ports",
        multiple=True,
        metavar="[IP:]HOST:CONTAINER",
        help="Forward a TCP port of this host to the command. Default of IP: 127.0.0.1. Repeatable.",
    ),
    click.option(
        "-e",
        "--env",
        "variables",
        multiple=True,
        metavar="NAME[=VALUE]",
        help="Set an environment variable; without VALUE, copy it from this host. Repeatable.",
    ),
    click.option(
        "--env-file",
        "variable_files",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="File with a line NAME[=VALUE] for each variable, and comments; --env replaces them. Repeatable.",
    ),
    click.option(
        "-w",
        "--workdir",
        metavar="PATH",
        default="",
        help="Working directory. Default: the first --mount, else that of the image.",
    ),
    click.option(
        "-u",
        "--user",
        metavar="NAME|UID[:GID]",
        default="",
        help="User to run as. Default: you if there is a --mount, else that of the image.",
    ),
    click.option(
        "--gpus/--no-gpus", default=None, help="Run with or without GPUs. Default: with GPUs if the engine has any."
    ),
    device_option,
    click.option(
        "--memory",
        type=MEMORY,
        metavar="POLICY",
        help="GPU memory policy, such as limit:4GiB. Default: that of the image.",
    ),
    click.option("--no-network", is_flag=True, help="Run without network access."),
    click.option(
        "-t/-T",
        "--tty/--no-tty",
        default=None,
        help="Run with or without a terminal. Default: with one if standard input and output are a terminal.",
    ),
    click.option(
        "-i/-I",
        "--interactive/--no-interactive",
        default=True,
        help="Pass standard input to the command (the default), or give it an empty one.",
    ),
)
"""The command receives them as `options`."""


def refuse_late_option(words: tuple[str, ...]) -> None:
    """Raise if a command begins with an option of `run`, which stands too late there.

    Raises:
        UsageError: It does.
    """
    options = {name for parameter in click.get_current_context().command.params for name in parameter.opts}
    option = words[0].partition("=")[0] if words else ""
    if option.startswith("-") and option in options:
        raise UsageError(
            f"{option} stands after the image, where its command is",
            hint=f"put {option} before the image; for the entry point of the image: `-- {option}`",
        )


def run_container(
    session: Session, chosen: tuple[str, FollowingEngine], command: tuple[str, ...], options: ContainerOptions
) -> int:
    """Run a command in a new container, connected to this process; return its exit status.

    Raises:
        UsageError: An option has a wrong value, or the engine does not support it.
    """
    console = _console(tty=options.tty, interactive=options.interactive)
    reference, runner = chosen
    request = container_request(reference, command, options, session.settings.environ, terminal=console.terminal)
    prepared = prepare(runner, request, options.memory, gpus=options.gpus)
    with_gpus = "with the GPUs" if prepared.request.gpus else "without GPUs"
    # Without GPUs a policy matters only to a user who asked for one.
    is_shown = prepared.request.gpus or options.memory is not None
    policy = f"; GPU memory: {prepared.memory}" if prepared.memory and is_shown else ""
    session.progress(f"running in {request.image} {with_gpus}{policy}")
    return runner.follow(prepared.request, console)


def _console(*, tty: bool | None, interactive: bool) -> Console:
    terminal = interactive and is_usable() if tty is None else tty
    if terminal and not (interactive and is_usable()):
        raise UsageError(
            "--tty needs standard input and output that are a terminal", hint="omit --tty, --no-interactive and pipes"
        )
    return Console(output=_show, given=_standard_input() if interactive else None, terminal=terminal)


def _standard_input() -> int | None:
    """Return the open file of standard input; None if there is none, or if this process may not read from it."""
    try:
        number = sys.stdin.fileno()
        # A read of a background job from its terminal stops the job.
        return None if os.isatty(number) and os.tcgetpgrp(number) != os.getpgrp() else number
    except (AttributeError, OSError, io.UnsupportedOperation):
        return None


def _show(number: int, piece: bytes) -> None:
    stream = sys.stdout if number == 1 else sys.stderr
    stream.flush()
    stream.buffer.write(piece)
    stream.buffer.flush()
