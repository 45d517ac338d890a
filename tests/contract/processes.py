"""Looking for processes of containers on this host."""

from __future__ import annotations

import time
from pathlib import Path

_SECONDS_TO_END = 20.0


def running(word: str) -> bool:
    """Whether any process on this host has the word in its command line."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in path.read_bytes():
                return True
        except OSError:
            continue
    return False


def gone(word: str) -> bool:
    """Whether no such process runs any more, after waiting for it to end."""
    deadline = time.monotonic() + _SECONDS_TO_END
    while running(word) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not running(word)
