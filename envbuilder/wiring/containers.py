"""The container that the options of a command line describe."""

from __future__ import annotations

import ipaddress
import os
import posixpath
import pwd
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.errors import UsageError
from envbuilder.core.memory_policy import MemoryPolicy
from envbuilder.oci.runtime.command import Caller, PublishedPort, RunRequest

_LOOPBACK = "127.0.0.1"
_LARGEST_PORT = 65535
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


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


def container_request(
    image: str, command: tuple[str, ...], options: ContainerOptions, environ: Mapping[str, str], *, terminal: bool
) -> RunRequest:
    """Return the container that some options describe.

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
        mounts=tuple(place for place, is_read_only in mounts if is_read_only),
        shared=tuple(place for place, is_read_only in mounts if not is_read_only),
        folder=_workdir(options.workdir) or (mounts[0][0][1] if mounts else ""),
        ports=tuple(_port(text) for text in options.ports),
        writable=True,
        keep=_keep(options.keep),
    )


def server_port(ports: Sequence[str], usual: int) -> tuple[PublishedPort | None, tuple[str, ...]]:
    """Return the port that is meant for a server, and the ports that are meant for something else.

    A port is meant for the server if it is a number alone, or forwards to the port that such servers usually have:
    `-p 9000` or `-p 9000:8888`, but not `-p 6006:6006`.

    Args:
        ports: `[IP:]HOST:CONTAINER` or `PORT` each.
        usual: Port that such servers usually have.

    Raises:
        UsageError: Several ports are meant for the server, or a port has a wrong value.
    """
    meant = [text for text in ports if _is_alone(text) or _port(text).container == usual]
    if len(meant) > 1:
        raise UsageError(
            f"a server has one port, not several: {', '.join(f'--publish {text}' for text in meant)}",
            hint=f"use -p HOST:{usual} once, and HOST:CONTAINER for ports of other programs, such as -p 7000:7000",
        )
    return (_port(meant[0]) if meant else None), tuple(text for text in ports if text not in meant)


def _is_alone(text: str) -> bool:
    return ":" not in text.rpartition("]:")[2]


def _caller() -> Caller:
    uid = os.geteuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = ""
    return Caller(uid=uid, gid=os.getegid(), name=name)


def _mount(text: str) -> tuple[tuple[str, str], bool]:
    """Return the paths of `DIR[:PATH[:ro]]`, by default `/work/NAME` in the container, and True for `ro`."""
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
    return (str(folder), path), mode == "ro"


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
