"""A project on this machine: its files, and the day of its last change."""

from __future__ import annotations

import subprocess
from datetime import date
from pathlib import Path

_SECONDS = 20
_COMMAND = (
    "git",
    "--no-pager",
    # A repository may name programs in its configuration that these would start.
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false"),
)


def last_change(folder: Path) -> date | None:
    """Return the day of the last commit of a checkout; None for a directory that is none, or without git."""
    try:
        done = subprocess.run(
            [*_COMMAND, "-C", str(folder), "log", "-1", "--format=%cs", "--", "."],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        return date.fromisoformat(done.stdout.strip())
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
