"""Options of commands that run something in a container, and the container that they describe."""

from __future__ import annotations

import io
import ipaddress
import os
import posixpath
import pwd
import sys
from collections.abc import Iterator, Mapping
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
        mounts: `DIR[:PATH[:ro]]` each.
        keep: Where changes of the image are kept; empty to discard them.
        workdir: Working directory; empty for the first mount, or the image's.
        variables: `NAME[=VALUE]` each.
        variable_files: Files with such lines, in order.
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
    variable_files: tuple[Path, ...]
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
    console = _console(tty=options.tty, interactive=options.interactive)
    reference, runner = chosen
    request = container_request(reference, command, options, session.settings.environ, terminal=console.terminal)
    prepared = prepare(runner, request, options.memory, gpus=options.gpus)
    with_gpus = "with the GPUs" if prepared.request.gpus else "without GPUs"
    policy = f"; GPU memory: {prepared.memory}" if prepared.memory else ""
    session.progress(f"running in {request.image} {with_gpus}{policy}")
    return runner.follow(prepared.request, console)


def container_request(
    image: str, command: tuple[str, ...], options: ContainerOptions, environ: Mapping[str, str], *, terminal: bool
) -> RunRequest:
    """Return the container that some options describe.

    Args:
        image: Reference of the image.
        command: Program and arguments.
        options: The options.
        environ: Environment variables of this process.
        terminal: Whether the command gets a terminal.

    Raises:
        UsageError: An option has a wrong value.
    """
    mounts = tuple(_mount(text) for text in options.mounts)
    lines = (line for file in options.variable_files for line in _lines(file))
    variables = dict(
        (
            *(_variable(text, environ, f"{where}: ", "") for where, text in lines),
            *(_variable(text, environ, "--env ", "--env ") for text in options.variables),
        )
    )
    if terminal and "TERM" in environ:
        variables.setdefault("TERM", environ["TERM"])
    return RunRequest(
        image=image,
        command=command,
        env=tuple(sorted(variables.items())),
        devices=options.devices,
        network="none" if options.no_network else "default",
        user=options.user,
        caller=_caller() if mounts and not options.user else None,
        mounts=tuple((mount.folder, mount.path) for mount in mounts if mount.is_read_only),
        shared=tuple((mount.folder, mount.path) for mount in mounts if not mount.is_read_only),
        folder=_workdir(options.workdir) or (mounts[0].path if mounts else ""),
        ports=tuple(_port(text) for text in options.ports),
        writable=True,
        keep=_keep(options.keep),
    )


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mount:
    """A directory of this host in a container."""

    folder: str
    path: str
    is_read_only: bool


def _mount(text: str) -> _Mount:
    """Return `DIR[:PATH[:ro]]`; the path in the container is `/work/NAME` by default."""
    source, colon, rest = text.partition(":")
    target, has_mode, mode = rest.partition(":")
    if has_mode and mode not in {"ro", "rw"}:
        raise UsageError(
            f"--mount {text}: {mode!r} is not a mode of a mount", hint="read-only: --mount .:/work:ro; default: rw"
        )
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
    return _Mount(folder=str(folder), path=path, is_read_only=mode == "ro")


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


def _lines(file: Path) -> Iterator[tuple[str, str]]:
    """Yield each variable of a file with its position, by the rules of Docker: no quotes, nothing is expanded."""
    try:
        lines = file.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise UsageError(
            f"--env-file {file} cannot be read: {reason}", hint="specify a file of NAME=VALUE lines"
        ) from error
    for number, line in enumerate(lines, 1):
        text = line.lstrip().rstrip("\r")
        if text and not text.startswith("#"):
            yield f"{file}:{number}", text


def _variable(text: str, environ: Mapping[str, str], where: str, option: str) -> tuple[str, str]:
    """Return name and value of `NAME[=VALUE]`; errors have no value of a file, which may be secret."""
    name, equals, value = text.partition("=")
    if not name:
        shown = text if option else "=…"
        raise UsageError(f"{where}{shown}: the name of the variable is missing", hint=f"use {option}NAME=VALUE")
    if any(each.isspace() for each in name):
        raise UsageError(f"{where}{name}: a name of a variable has no spaces", hint=f"use {option}NAME=VALUE")
    if not equals and name not in environ:
        raise UsageError(f"{where}{name}: the variable is not set on this host", hint=f"set a value: {option}{name}=…")
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
