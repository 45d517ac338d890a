"""One command in a temporary container."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from signal import SIGKILL
from threading import Thread
from typing import TYPE_CHECKING

from envbuilder.core.archives.tar_reader import FILE, PlainStream, TarReader
from envbuilder.core.errors import EngineError
from envbuilder.core.json_fields import Record, records, text
from envbuilder.image.docker.context_tar import files_tar
from envbuilder.image.running.callers import GROUP, PASSWD, registered
from envbuilder.oci.runtime.command import (
    INIT_FAILURE,
    Caller,
    Console,
    RunRequest,
    RunResult,
    failed_init,
    failed_start,
)
from envbuilder.oci.runtime.terminals import forwarded, on_resize, raw

if TYPE_CHECKING:
    from envbuilder.image.docker.api import DockerApi
    from envbuilder.image.docker.client import StandardStreams

_KILLED = 137
_SECONDS_TO_DIE = 30.0
_PIECE = 1 << 16


def run(api: DockerApi, request: RunRequest, *, clock: Callable[[], float], name: str) -> RunResult:
    """Run a command and collect its results; the container is removed by its name, which is unique, in any case.

    A command that cannot be started is a result as in a shell (127 not found, 126 not executable), with the engine's
    words as its standard error: "this image has no python" is a finding about the image, not about the engine.
    """
    try:
        _create(api, request, name)
        try:
            api.start(name)
        except EngineError as error:
            return _not_started(error)
        status, timed_out = _await(api, name, clock() + request.timeout, clock)
        return RunResult(
            status=status,
            stdout=api.output(name, stderr=False),
            stderr=api.output(name, stderr=True),
            timed_out=timed_out,
            copied=_copy_out(api, name, request.copy_out),
        )
    finally:
        api.remove(name)


def follow(api: DockerApi, request: RunRequest, console: Console, *, name: str) -> int:
    """Run a command without time limit with these standard streams; return its exit status.

    A command that cannot be started is reported as in `run`.
    """
    try:
        return follow_in(api, request, console, name=name, init=has_init(api.version()))
    finally:
        api.remove(name)


def follow_in(api: DockerApi, request: RunRequest, console: Console, *, name: str, init: bool = False) -> int:
    """Do the same without removing the container.

    Args:
        api: The engine.
        request: The request.
        console: The standard streams.
        name: Name for the container, unique.
        init: Whether the command is started by the init of the engine. Otherwise it is process 1, which the kernel
            gives only signals that it handles: neither `sleep` nor a Python program ends on SIGTERM. The init is a
            file of the container, so that changes which are kept would contain it.
    """
    _create(api, request, name, console, init=init)
    if request.caller:
        _register(api, name, request.caller)
    with api.attached(name, stdin=console.given is not None, terminal=console.terminal) as attached:
        try:
            api.start(name)
        except EngineError as error:
            failed = _not_started(error)
            console.output(2, failed.stderr)
            return failed.status
        not_started = _connect(api, name, console, attached, init=init)
    while (status := api.wait(name, _SECONDS_TO_DIE)) is None:
        continue
    return not_started or status


def _connect(api: DockerApi, name: str, console: Console, attached: StandardStreams, *, init: bool) -> int | None:
    """Pass on standard streams, the size of the terminal and signals, until the container ends.

    Returns:
        The status of a shell if the init of the engine could not start the command; otherwise None.
    """
    not_started = None
    with ExitStack() as stack:
        if console.terminal:
            stack.enter_context(raw())
            stack.enter_context(on_resize(lambda rows, columns: api.resize(name, rows, columns)))
        stack.enter_context(forwarded(lambda number: api.send_signal(name, number)))
        if console.given is not None:
            Thread(target=_pass_in, args=(console.given, attached), daemon=True).start()
        for stream, piece in _with_whole_start(attached.pieces) if init else attached.pieces:
            if failed := failed_init(piece) if init else None:
                not_started = failed.status
            console.output(1 if console.terminal else stream, failed.stderr if failed else piece)
    return not_started


def _with_whole_start(pieces: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Yield pieces of output, of which the first has the whole line if the init writes it: it does so in parts."""
    number, first, remaining = 1, b"", iter(pieces)
    for stream, piece in remaining:
        number, first = stream, first + piece
        if not INIT_FAILURE.startswith(first) and (b"\n" in first or not first.startswith(INIT_FAILURE)):
            break
    if first:
        yield number, first
    yield from remaining


def _pass_in(given: int, attached: StandardStreams) -> None:
    with suppress(OSError):  # the container has ended
        while piece := os.read(given, _PIECE):
            attached.send(piece)
        attached.end()


def execute(
    api: DockerApi, container: str, command: tuple[str, ...], *, timeout: float, clock: Callable[[], float]
) -> RunResult:
    """Run a command in a running container and collect its output."""
    started = api.start_command(container, command)
    streams = {False: bytearray(), True: bytearray()}
    deadline, timed_out = clock() + timeout, False
    for output, errors in api.follow_command(started):
        streams[False] += output or b""
        streams[True] += errors or b""
        if clock() > deadline:
            timed_out = True
            break
    status = None if timed_out else api.command_status(started)
    return RunResult(
        status=_KILLED if status is None else status,
        stdout=bytes(streams[False]),
        stderr=bytes(streams[True]),
        timed_out=timed_out,
    )


def has_init(version: Record) -> bool:
    """Return True if the answer of `GET /version` has a program that an engine can start as process 1.

    Debian's package of Docker only recommends it.
    """
    components = records(version, "Components")
    return any(text(each, "Name") == "docker-init" and text(each, "Version") not in {"", "N/A"} for each in components)


def has_gpus(container: Record) -> bool:
    """Return True if the answer of `GET /containers/…/json` has requested devices, or NVIDIA's runtime."""
    requested = records(container, "HostConfig", "DeviceRequests")
    wanted = any(
        text(each, "Driver") in {"nvidia", "cdi"} or "gpu" in str(each.get("Capabilities")) for each in requested
    )
    return wanted or text(container, "HostConfig", "Runtime") == "nvidia"


def _create(
    api: DockerApi, request: RunRequest, name: str, console: Console | None = None, *, init: bool = False
) -> None:
    stdin = console is not None and console.given is not None
    api.create(name, request, stdin=stdin, terminal=console is not None and console.terminal, init=init)
    if request.files:
        api.put(name, files_tar(request.files))


def _register(api: DockerApi, name: str, caller: Caller) -> None:
    """Give the user of a container a name and a home directory; the engine sets HOME when the container starts."""
    passwd, group = (_copy_out(api, name, path) or b"" for path in (PASSWD, GROUP))
    user = registered(caller, passwd, group)
    if user.files:
        api.put(name, files_tar(user.files, home=(user.home, user.uid, user.gid)))


def _not_started(error: EngineError) -> RunResult:
    result = failed_start(error.message)
    if result is None:
        raise error
    return result


def _await(api: DockerApi, name: str, deadline: float, clock: Callable[[], float]) -> tuple[int, bool]:
    """Return the exit status, and True if the time was up; the SDK's timeout limits only the silence."""
    while (left := deadline - clock()) > 0:
        status = api.wait(name, left)
        if status is not None:
            return status, False
    api.send_signal(name, SIGKILL)
    api.wait(name, _SECONDS_TO_DIE)
    return _KILLED, True


def _copy_out(api: DockerApi, name: str, path: str) -> bytes | None:
    pieces = api.get(name, path) if path else None
    return _only_file(pieces) if pieces is not None else None


def _only_file(pieces: Iterable[bytes]) -> bytes | None:
    archive = TarReader(PlainStream(io.BytesIO(b"".join(pieces))), "the archive from the engine")
    entry = next(archive.entries(), None)
    return b"".join(archive.content()) if entry is not None and entry.flag == FILE else None
