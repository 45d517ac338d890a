"""Waiting for a process, but not for ever."""

from __future__ import annotations

import math
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, cast

from envbuilder.model.builds import Output

KILLED = 137
_SECONDS_TO_DIE = 30.0
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a process ended.

    Attributes:
        status: As a shell gives it: 128 and the signal when one ended it; 137 when its time was up.
        stdout: What it wrote.
        stderr: Likewise.
        timed_out: Whether it was killed because its time was up.
    """

    status: int
    stdout: bytes
    stderr: bytes
    timed_out: bool


def nothing_more() -> None:
    """Killing the process group is enough."""


def wait_for(  # noqa: PLR0913  one way to run a process
    command: Sequence[str],
    *,
    timeout: float,
    environ: Mapping[str, str],
    kill: Callable[[], None] = nothing_more,
    pass_fds: Sequence[int] = (),
    output: Output | None = None,
) -> Ended:
    """Run a command without standard input until it ends or its time is up; after that nothing of it runs.

    Args:
        command: Program and arguments.
        timeout: Seconds; may be infinite.
        environ: Its environment.
        kill: Kills what killing the command's process group does not.
        pass_fds: Further open files that it gets.
        output: Gets what it writes as it comes; then nothing of it is kept.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environ),
        pass_fds=tuple(pass_fds),
        start_new_session=True,
    )
    timed_out = False
    limit = None if timeout == math.inf else timeout
    with process:
        try:
            stdout, stderr = _follow(process, timeout, output) if output else process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            timed_out = True
            _end(process, kill)
            stdout, stderr = process.communicate(timeout=_SECONDS_TO_DIE)
        except BaseException:
            _end(process, kill)
            raise
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return Ended(status=KILLED if timed_out else status, stdout=stdout, stderr=stderr, timed_out=timed_out)


def _follow(process: subprocess.Popen[bytes], timeout: float, output: Output) -> tuple[bytes, bytes]:
    """Hand on what a process writes until it has closed both streams and ended.

    Raises:
        subprocess.TimeoutExpired: Its time was up.
    """
    deadline = time.monotonic() + timeout
    with selectors.DefaultSelector() as streams:
        for number, stream in ((1, process.stdout), (2, process.stderr)):
            streams.register(cast("IO[bytes]", stream), selectors.EVENT_READ, number)
        while streams.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(process.args, timeout)
            for key, _ in streams.select(None if left == math.inf else left):
                piece = os.read(key.fd, _PIECE)
                if piece:
                    output(key.data, piece)
                else:
                    streams.unregister(key.fileobj)
    process.wait(None if deadline == math.inf else max(deadline - time.monotonic(), 0))
    return b"", b""


def _end(process: subprocess.Popen[bytes], kill: Callable[[], None]) -> None:
    kill()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
