"""Options of commands that run something in a container, and the container that they describe."""

from __future__ import annotations

import io
import ipaddress
import os
import posixpath
import pwd
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from envbuilder.cli.options import MEMORY, grouped
from envbuilder.core.errors import UsageError
from envbuilder.core.memory_policy import MemoryPolicy
from envbuilder.image.run import FollowingEngine, prepare
from envbuilder.oci.runtime.command import Caller, Console, PublishedPort, RunRequest
from envbuilder.oci.runtime.terminals import is_usable
from envbuilder.wiring.session import Session

_LOOPBACK = "127.0.0.1"
_LARGEST_PORT = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerOptions:
    """The options of the container, as typed.

    Attributes:
        memory: GPU memory policy; None for that of the image.
        gpus: Whether it gets the GPUs; None means if there are any.
        mounts: `DIR[:PATH]` each.
        keep: Where changes of the image are kept; empty to discard them.
        workdir: Working directory; empty for the first mount, or the image's.
        variables: `NAME[=VALUE]` each.
        user: User; empty for the caller if there are mounts, else for that of the image.
        ports: `[IP:]HOST:CONTAINER` each.
        tty: Whether it gets a terminal; None means if this process has one.
    """

    memory: MemoryPolicy | None
    gpus: bool | None
    devices: tuple[str, ...]
    mounts: tuple[str, ...]
    keep: str
    workdir: str
    variables: tuple[str, ...]
    user: str
    ports: tuple[str, ...]
    no_network: bool
    tty: bool | None
    interactive: bool


container_options = grouped(
    "options",
    ContainerOptions,
    click.option(
        "--mount",
        "mounts",
        multiple=True,
        metavar="DIR[:PATH]",
        help="Directory of this host to mount read-write; the command runs as you. Repeatable.",
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
        "--env",
        "variables",
        multiple=True,
        metavar="NAME[=VALUE]",
        help="Set an environment variable; without VALUE, copy it from this host. Repeatable.",
    ),
    click.option(
        "--workdir",
        metavar="PATH",
        default="",
        help="Working directory. Default: the first --mount, else that of the image.",
    ),
    click.option(
        "--user",
        metavar="NAME|UID[:GID]",
        default="",
        help="User to run as. Default: you if there is a --mount, else that of the image.",
    ),
    click.option(
        "--gpus/--no-gpus", default=None, help="Run with or without GPUs. Default: with GPUs if the engine has any."
    ),
    click.option(
        "--device", "devices", multiple=True, metavar="NAME", help="CDI device to use instead of all GPUs. Repeatable."
    ),
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


def run_container(
    session: Session, chosen: tuple[str, FollowingEngine], command: tuple[str, ...], options: ContainerOptions
) -> int:
    """Run a command in a new container, connected to this process; return its exit status.

    Raises:
        UsageError: An option has a wrong value, or the engine does not support it.
    """
    shared = tuple(_mount(text) for text in options.mounts)
    environ = session.settings.environ
    console = _console(tty=options.tty, interactive=options.interactive)
    variables = dict(_variable(text, environ) for text in options.variables)
    if console.terminal and "TERM" in environ:
        variables.setdefault("TERM", environ["TERM"])
    reference, runner = chosen
    request = RunRequest(
        image=reference,
        command=command,
        env=tuple(sorted(variables.items())),
        devices=options.devices,
        network="none" if options.no_network else "default",
        user=options.user,
        caller=_caller() if shared and not options.user else None,
        shared=shared,
        folder=_workdir(options.workdir) or (shared[0][1] if shared else ""),
        ports=tuple(_port(text) for text in options.ports),
        writable=True,
        keep=_keep(options.keep),
    )
    prepared = prepare(runner, request, options.memory, gpus=options.gpus)
    with_gpus = "with the GPUs" if prepared.request.gpus else "without GPUs"
    policy = f"; GPU memory: {prepared.memory}" if prepared.memory else ""
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


def _caller() -> Caller:
    uid = os.geteuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = ""
    return Caller(uid=uid, gid=os.getegid(), name=name)


def _mount(text: str) -> tuple[str, str]:
    """Return the directory of this host and its path in the container, `/work/NAME` by default."""
    source, colon, target = text.partition(":")
    folder = Path(source).resolve()
    if not folder.is_dir():
        raise UsageError(f"--mount {source}: no such directory", hint="specify an existing directory")
    if colon and not target.startswith("/"):
        raise UsageError(
            f"--mount {text}: {target!r} is not an absolute path", hint="use an absolute path: --mount .:/work"
        )
    path = posixpath.normpath(target) if target else f"/work/{folder.name}"
    if path.lstrip("/").partition("/")[0] in {"", "proc", "sys", "dev"}:
        raise UsageError(
            f"--mount {text}: {target!r} is reserved for the container", hint="use another path: --mount .:/work"
        )
    return str(folder), path


def _workdir(text: str) -> str:
    if text and not text.startswith("/"):
        raise UsageError(f"--workdir {text}: not an absolute path", hint="use an absolute path of the container: /work")
    return text


def _keep(text: str) -> str:
    """Return a name, or the absolute path of a directory."""
    if "/" in text:
        return str(Path(text).resolve())
    if text and not (text[0].isalnum() and text.isascii() and set(text) <= _NAME):
        raise UsageError(
            f"--keep {text}: not a name of letters, digits, dots, dashes and underscores",
            hint=f"for a directory: --keep ./{text}",
        )
    return text


_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def _variable(text: str, environ: Mapping[str, str]) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name:
        raise UsageError(f"--env {text}: the name of the variable is missing", hint="use --env NAME=VALUE")
    if not equals and name not in environ:
        raise UsageError(f"--env {name}: the variable is not set on this host", hint=f"set a value: --env {name}=…")
    return name, value if equals else environ[name]


def _port(text: str) -> PublishedPort:
    """Return `[IP:]HOST:CONTAINER`, or `PORT` for the same number on both sides."""
    address, colon, rest = text.rpartition("]:") if text.startswith("[") else ("", "", text)
    words = rest.split(":")
    if not colon and len(words) > 2:
        address, words = ":".join(words[:-2]), words[-2:]
    address = address.removeprefix("[") or _LOOPBACK
    try:
        ipaddress.ip_address(address)
        host, container = _number(words[0]), _number(words[-1])
    except ValueError as error:
        raise UsageError(
            f"--publish {text}: {error}", hint="use -p 8888:8888, or with an address of this host: -p 0.0.0.0:8888:8888"
        ) from error
    return PublishedPort(address=address, host=host, container=container)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= _LARGEST_PORT):
        raise ValueError(f"{text!r} is not a port from 1 to {_LARGEST_PORT}")
    return int(text)
