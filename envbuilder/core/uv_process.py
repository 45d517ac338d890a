"""Execution of uv with a limit on time without progress, since its own timeout restarts with every received byte."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.errors import SourceUnreachable, TimeLimitReached
from envbuilder.core.http.limits import LEAST

SILENCE = 50.0
"""Seconds without progress: four times `_TIMEOUT`, and the pauses between them."""

TIME_LIMIT = 900.0

_BUSY = 0.02
"""Share of one processor below which uv is considered waiting.

Measured 2026-11 with uv 0.13.9: 0.0003 while an index sends a byte per second, 0.001 at 20 single bytes per second.
"""

_TIMEOUTS = ("UV_HTTP_TIMEOUT", "UV_REQUEST_TIMEOUT", "HTTP_TIMEOUT")
"""Variables of uv for its timeout in seconds. Source: https://docs.astral.sh/uv/reference/environment/"""

_TIMEOUT = 12
"""Timeout of uv in seconds; with its four attempts less than a minute in all."""

_LONGEST = 3600.0
_LOOK = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """Activity of processes since their start.

    Attributes:
        seconds: Processor time.
        moved: Bytes read from and written to files, without network traffic.
    """

    seconds: float = 0.0
    moved: int = 0


class ProgressWatch:
    """Detection of processes that make no progress.

    Args:
        look: Returns their activity.
        silence: Allowed seconds without progress.
        clock: Returns seconds since an arbitrary moment; monotonic.
    """

    def __init__(self, look: Callable[[], Activity], silence: float, clock: Callable[[], float]) -> None:
        self._look = look
        self._silence = silence
        self._clock = clock
        self._before, self._since = look(), clock()

    def ended(self) -> bool:
        """Return True if there was no progress for too long."""
        done, now = self._look(), self._clock()
        # Both can decrease: the activity of an ended process is lost if its parent does not wait for it.
        busy = abs(done.seconds - self._before.seconds) >= _BUSY * self._silence
        if busy or abs(done.moved - self._before.moved) >= LEAST * self._silence:
            self._before, self._since = done, now
        return now - self._since >= self._silence


def _environ_with_timeout(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment that sets uv's timeout to `_TIMEOUT` seconds, unless the user has set it.

    Example:
        >>> _environ_with_timeout({}), _environ_with_timeout({"HTTP_TIMEOUT": "300"})
        ({'UV_HTTP_TIMEOUT': '12'}, {'HTTP_TIMEOUT': '300'})
    """
    own = {} if any(environ.get(name) for name in _TIMEOUTS) else {_TIMEOUTS[0]: str(_TIMEOUT)}
    return {**environ, **own}


def silence_of(environ: Mapping[str, str]) -> float:
    """Return the allowed seconds without progress: more if the user has set a longer timeout.

    Example:
        >>> silence_of({}), silence_of({"UV_HTTP_TIMEOUT": "5"}), silence_of({"UV_HTTP_TIMEOUT": "300"})
        (50.0, 50.0, 338.0)
    """
    configured = next((environ[name] for name in _TIMEOUTS if environ.get(name)), "")
    seconds = min(float(configured), _LONGEST) if configured.isascii() and configured.isdigit() else 0.0
    return max(SILENCE, seconds + SILENCE - _TIMEOUT)


def run_process(
    command: Sequence[str], environ: Mapping[str, str], *, timeout: float = TIME_LIMIT, silence: float | None = None
) -> tuple[int, str]:
    """Run uv until it ends, times out or makes no progress; no process of its group is left afterwards.

    Args:
        command: Program and arguments.
        environ: Its environment.
        timeout: Seconds.
        silence: Seconds without progress; None for `silence_of` its environment.

    Returns:
        Its exit status, negative for a signal, and its standard error.

    Raises:
        SourceUnreachable: It timed out or made no progress.
    """
    allowed = silence_of(environ) if silence is None else silence
    ends = time.monotonic() + timeout
    with subprocess.Popen(
        command,
        env=_environ_with_timeout(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        progress = ProgressWatch(lambda: activity(process.pid), allowed, time.monotonic)
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    _, output = process.communicate(timeout=min(_LOOK, allowed, timeout))
                    return process.returncode, output.decode("utf-8", "replace")
                _require_progress(progress, allowed, ends, timeout)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise


def _require_progress(progress: ProgressWatch, allowed: float, ends: float, timeout: float) -> None:
    if progress.ended():
        raise SourceUnreachable(
            f"the package index is too slow: uv made no progress for {allowed:.0f} seconds and was ended",
            hint="check network and proxy, or name another index: --index URL; UV_HTTP_TIMEOUT=SECONDS allows more",
        )
    if time.monotonic() >= ends:
        raise TimeLimitReached(f"the package index did not answer within {timeout / 60:.0f} minutes", hint="try again")


def activity(pid: int) -> Activity:
    """Return the activity of a process and its descendants, without those that cannot be inspected."""
    stats = {int(each.name): _stat(each) for each in Path("/proc").iterdir() if each.name.isdigit()}
    family, left = set[int](), [pid]
    while left:
        each = left.pop()
        family.add(each)
        left += [child for child, stat in stats.items() if stat and int(stat[1]) == each and child not in family]
    ticks = sum(int(number) for each in family if (stat := stats.get(each)) for number in stat[11:15])
    return Activity(seconds=ticks / os.sysconf("SC_CLK_TCK"), moved=sum(map(_moved, family)))


def _stat(process: Path) -> list[str]:
    """Return the fields of `/proc/PID/stat` after the name: state, parent, ... Source: proc_pid_stat(5)."""
    try:
        return (process / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:  # it has ended
        return []


def _moved(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/io").read_text("ascii").splitlines()
    except OSError:  # it has ended, or runs as another user
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith(("rchar:", "wchar:")))
