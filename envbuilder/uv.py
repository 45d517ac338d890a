"""The uv program: one way to run it, and one way to tell that the index did not answer."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from envbuilder.errors import SourceUnreachable
from envbuilder.http.trust import child_environ
from envbuilder.uv_failures import failure_of

_UNREACHABLE = (
    "error sending request",
    "dns error",
    "Failed to fetch",
    "Could not connect",
    "invalid peer certificate",
    "operation timed out",
    "Request failed after",
)
_TIME_LIMIT = 900.0


def run_uv(  # noqa: PLR0913  each is one setting of the program
    program: Path,
    arguments: Sequence[str],
    *,
    cache: Path,
    environ: Mapping[str, str],
    index: str = "",
    timeout: float = _TIME_LIMIT,
) -> str | None:
    """Run uv without letting it fetch interpreters.

    Args:
        program: uv.
        arguments: What to do.
        cache: Folder for what it keeps.
        environ: Its environment: proxies, CA bundle and index come from here.
        index: Address of a package index; empty means uv's own configuration.
        timeout: Seconds.

    Returns:
        None when it succeeded, else what it wrote to standard error.

    Raises:
        SourceUnreachable: It did not end in time, or the index wants other credentials.
        DiskFull, MachineError, ToolFailed: It could not do its work on this machine.
    """
    own = {"UV_CACHE_DIR": str(cache), "UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1"}
    if index:
        own["UV_DEFAULT_INDEX"] = index
    try:
        done = subprocess.run(
            [str(program), *arguments],
            env={**child_environ(environ), **own},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise SourceUnreachable(
            f"the package index did not answer within {timeout / 60:.0f} minutes", hint="try again"
        ) from error
    if done.returncode:
        temporary = environ.get("TMPDIR") or "/tmp"  # noqa: S108  where uv itself writes
        failure = failure_of(done.returncode, done.stderr, f"{cache} or {temporary}")
        if failure is not None:
            raise failure
    return done.stderr.rstrip() if done.returncode else None


def index_is_silent(output: str) -> bool:
    """Whether what uv wrote says that the index could not be reached."""
    return any(sign in output for sign in _UNREACHABLE)
