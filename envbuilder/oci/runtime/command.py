"""Requests and results of commands in a container or a root file system."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from envbuilder.core.errors import UsageError

Output: TypeAlias = Callable[[int, bytes], None]
"""Receives the stream, 1 for standard output and 2 for standard error, and a piece of the output."""

_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
_CANNOT_START = (
    (re.compile(r"executable file not found|no such file or directory|not a directory"), _NOT_FOUND),
    (re.compile(r"permission denied|exec format error|is a directory"), _NOT_EXECUTABLE),
)
INIT_FAILURE = b"[FATAL tini ("
_INIT_FAILED = re.compile(rb"\[FATAL tini \(\d+\)\] exec (?P<program>[^\r\n]+) failed: (?P<reason>[^\r\n]+)")
"""What the init of Docker writes when it cannot start a command: https://github.com/krallin/tini, spawn_process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Console:
    """Standard streams of a command that is followed to its end.

    Attributes:
        output: Receives the output as it is written; not called if the command has the terminal.
        given: Open file for standard input; None for an empty one.
        terminal: Whether the command gets a terminal, which is connected to that of this process: its standard input
            and output.
    """

    output: Output
    given: int | None = None
    terminal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedPort:
    """A TCP port of a container that this host forwards to."""

    address: str
    host: int
    container: int


def publishable(ports: Sequence[PublishedPort], *, has_network: bool, program: str) -> Sequence[PublishedPort]:
    """Return ports that a program is to publish.

    Raises:
        UsageError: The command has no network: only envbuilder's own sandbox publishes ports then.
    """
    if ports and not has_network:
        raise UsageError(f"{program} cannot publish ports of a command without network", hint="omit --no-network")
    return ports


def bracketed(address: str) -> str:
    """Return an IP address as it is written before a port."""
    return f"[{address}]" if ":" in address else address


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """A user of this host who runs a command; the image need not know the user.

    Attributes:
        name: Login name; used if the image has no user with this uid.
    """

    uid: int
    gid: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One command in a new container that is removed afterwards.

    Attributes:
        image: Image reference or id.
        command: Program and arguments; replaces entry point and command of the image.
        files: `(absolute path in the container, content)` to create before the start; readable by all users.
        mounts: `(path on this host, path in the container)`, read-only.
        env: Environment variables, sorted by name.
        gpus: Ask the engine for all GPUs.
        devices: CDI devices to ask for instead, such as `nvidia.com/gpu=0`.
        network: `none`, `host` or `default`.
        user: User to run as; empty for that of the image.
        timeout: Seconds after which the container is killed.
        copy_out: Absolute path of one file in the container to read after the command has ended; empty for none.
        shared: `(path on this host, path in the container)`, writable.
        folder: Working directory; empty for that of the image.
        caller: User to run as instead of that of the image, with a name and a writable home directory; None for
            `user`.
        writable: Whether the command may change the image; the changes are discarded, or kept under `keep`.
        keep: Name, or absolute path of a directory, under which changes are kept for the next run; empty to discard
            them. Only with `writable`.
        unset: Variables of the image that the command does not get.
    """

    image: str
    command: tuple[str, ...]
    files: tuple[tuple[str, bytes], ...] = ()
    mounts: tuple[tuple[str, str], ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    gpus: bool = False
    devices: tuple[str, ...] = ()
    network: str = "none"
    user: str = ""
    timeout: float = 600.0
    copy_out: str = ""
    shared: tuple[tuple[str, str], ...] = ()
    folder: str = ""
    ports: tuple[PublishedPort, ...] = ()
    caller: Caller | None = None
    writable: bool = False
    keep: str = ""
    unset: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """Result of a command.

    Attributes:
        status: As in a shell: 128 plus the number of a fatal signal; 137 if it was killed.
        stdout: Standard output; empty if it was passed on.
        stderr: Standard error, likewise.
        timed_out: Whether it was killed by the timeout.
        flooded: Whether it was killed because of too much output.
        copied: Content of `copy_out`; None if there was no such file.
    """

    status: int
    stdout: bytes = b""
    stderr: bytes = b""
    timed_out: bool = False
    flooded: bool = False
    copied: bytes | None = None


def status_of_failed_start(message: str) -> int | None:
    """Return the status of a shell for the error of a runtime that cannot start a command; None for another error."""
    return next((status for pattern, status in _CANNOT_START if pattern.search(message)), None)


def failed_start(message: str) -> RunResult | None:
    """Return the result for the error of Docker or runc that cannot start a command; None for another error."""
    status = status_of_failed_start(message) if "exec" in message else None
    return RunResult(status=status, stderr=f"{message}\n".encode()) if status else None


def failed_init(output: bytes) -> RunResult | None:
    r"""Return the result for output of Docker's init that cannot start a command, as the engine would report it.

    It is None for other output. The init itself ends with status 1 where it knows no better.

    Example:
        >>> failed_init(b"[FATAL tini (7)] exec pythn failed: No such file or directory\n").stderr
        b'exec: "pythn": not found\n'
    """
    found = _INIT_FAILED.match(output)
    if found is None:
        return None
    reason = found["reason"].lower()
    status = status_of_failed_start(reason.decode(errors="replace")) or _NOT_EXECUTABLE
    shown = b"not found" if status == _NOT_FOUND else reason
    return RunResult(status=status, stderr=b'exec: "%b": %b' % (found["program"], shown) + output[found.end() :])
