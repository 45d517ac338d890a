"""Waiting for a process, but not for ever."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

KILLED = 137
_SECONDS_TO_DIE = 30.0


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


def wait_for(
    command: Sequence[str],
    *,
    timeout: float,
    environ: Mapping[str, str],
    kill: Callable[[], None] = nothing_more,
    pass_fds: Sequence[int] = (),
) -> Ended:
    """Run a command without standard input until it ends or its time is up; after that nothing of it runs.

    Args:
        command: Program and arguments.
        timeout: Seconds.
        environ: Its environment.
        kill: Kills what killing the command's process group does not.
        pass_fds: Further open files that it gets.
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
    with process:
        try:
            stdout, stderr = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            timed_out = True
            _end(process, kill)
            stdout, stderr = process.communicate(timeout=_SECONDS_TO_DIE)
        except BaseException:
            _end(process, kill)
            raise
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return Ended(status=KILLED if timed_out else status, stdout=stdout, stderr=stderr, timed_out=timed_out)


def _end(process: subprocess.Popen[bytes], kill: Callable[[], None]) -> None:
    kill()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
