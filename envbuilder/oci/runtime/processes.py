"""Processes with a timeout and a limit of output."""

from __future__ import annotations

import math
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import IO, Protocol, cast

from envbuilder.oci.runtime.command import Console, RunResult
from envbuilder.oci.runtime.terminals import forwarded, from_the_keyboard

KILLED = 137
KEPT = 32 << 20
_SECONDS_TO_DIE = 30.0
_PIECE = 1 << 16


class Cancellation(Protocol):
    """Request to end processes at once."""

    def fileno(self) -> int:
        """Return a file descriptor that can be read as soon as they have to end."""
        ...


def nothing_more() -> None:
    """Do nothing: killing the process group is enough."""


def wait_for(  # noqa: PLR0913  one way to run a process
    command: Sequence[str],
    *,
    timeout: float,
    environ: Mapping[str, str],
    kill: Callable[[], object] = nothing_more,
    pass_fds: Sequence[int] = (),
    console: Console | None = None,
    given: IO[bytes] | None = None,
    answer: IO[bytes] | None = None,
    limit: int = KEPT,
    cancellation: Cancellation | None = None,
) -> RunResult:
    """Run a command until it ends or times out; no process of it is left afterwards.

    Args:
        command: Program and arguments.
        timeout: Seconds; may be infinite.
        environ: Its environment.
        kill: Kills processes outside the command's process group.
        pass_fds: Further open files to pass on.
        console: Standard streams of a user who follows the command, which first gets the signals that ask this process
            to end; None to keep the output. If it is a terminal, there is no time limit and no cancellation.
        given: Open file for standard input without a console; None for an empty one.
        answer: Open file for standard output; None to keep the output.
        limit: Maximum of kept bytes of both streams together; the command is killed if it writes more.
        cancellation: Ends the command; None for never.

    Raises:
        CancelledError: The command was cancelled.
    """
    if console and console.terminal:
        return _hand_over(command, environ, kill)
    stdin = console.given if console else given
    output = console.output if console else None
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=answer or subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environ),
        pass_fds=tuple(pass_fds),
        start_new_session=True,
    )
    kept = _Kept(limit=limit)
    timed_out = flooded = False
    with process, forwarded(process.send_signal) if console else nullcontext():
        try:
            _follow(process, timeout, output or kept.hear, cancellation)
        except (subprocess.TimeoutExpired, _Flooded) as error:
            flooded = isinstance(error, _Flooded)
            timed_out = not flooded
            _end(process, kill)
            _follow(process, _SECONDS_TO_DIE, output or kept.hear_what_fits)
        except BaseException:
            _end(process, kill)
            raise
    return RunResult(
        status=KILLED if timed_out or flooded else status_of(process),
        stdout=bytes(kept.streams[1]),
        stderr=bytes(kept.streams[2]),
        timed_out=timed_out,
        flooded=flooded,
    )


def status_of(process: subprocess.Popen[bytes]) -> int:
    """Return the status of a process that has ended, as in a shell."""
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _hand_over(command: Sequence[str], environ: Mapping[str, str], kill: Callable[[], object]) -> RunResult:
    """Run a command that uses the standard streams and the terminal of this process."""
    process = subprocess.Popen(command, env=dict(environ))
    with process, from_the_keyboard(), forwarded(process.send_signal, keyboard=False):
        try:
            process.wait()
        except BaseException:
            kill()
            process.kill()
            raise
    return RunResult(status=status_of(process))


class _Flooded(Exception):
    """A process exceeded the limit of its output."""


@dataclass(kw_only=True)
class _Kept:
    """Output of a process.

    Attributes:
        limit: Bytes of both streams together.
        streams: Content by number of the stream.
    """

    limit: int
    streams: dict[int, bytearray] = field(default_factory=lambda: {1: bytearray(), 2: bytearray()})

    def hear(self, number: int, piece: bytes) -> None:
        """Keep a piece.

        Raises:
            _Flooded: The limit is exceeded.
        """
        fits = self.hear_what_fits(number, piece)
        if not fits:
            raise _Flooded

    def hear_what_fits(self, number: int, piece: bytes) -> bool:
        """Keep a piece as far as the limit allows; return True if that was all of it."""
        room = self.limit - sum(map(len, self.streams.values()))
        self.streams[number] += piece[:room]
        return len(piece) <= room


def _follow(
    process: subprocess.Popen[bytes],
    timeout: float,
    output: Callable[[int, bytes], object],
    cancellation: Cancellation | None = None,
) -> None:
    """Pass on the output of a process until it has closed both streams and ended.

    Raises:
        subprocess.TimeoutExpired: It timed out.
        CancelledError: It was cancelled.
    """
    deadline = time.monotonic() + timeout
    streams = {stream: number for number, stream in ((1, process.stdout), (2, process.stderr)) if stream}
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream, selectors.EVENT_READ)
        if cancellation:
            selector.register(cancellation, selectors.EVENT_READ)
        while streams:
            left = deadline - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(process.args, timeout)
            for key, _ in selector.select(None if left == math.inf else left):
                _pass_on(key, streams, output, selector)
    process.wait(None if deadline == math.inf else max(deadline - time.monotonic(), 0))


def _pass_on(
    key: selectors.SelectorKey,
    streams: dict[IO[bytes], int],
    output: Callable[[int, bytes], object],
    selector: selectors.BaseSelector,
) -> None:
    """Pass on a piece of one of the streams; at its end, remove it from them."""
    stream = cast("IO[bytes]", key.fileobj)
    if stream not in streams:
        raise CancelledError
    piece = os.read(key.fd, _PIECE)
    if piece:
        output(streams[stream], piece)
    else:
        del streams[stream]
        selector.unregister(stream)


def _end(process: subprocess.Popen[bytes], kill: Callable[[], object]) -> None:
    kill()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
