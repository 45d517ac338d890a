"""Temporary directories of running commands, and the removal of those that killed processes have left."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from envbuilder.core.errors import LocksUnsupported
from envbuilder.core.file_locks import hold_now

_PREFIX = "envbuilder-"
_KINDS = ("checkout", "command", "doctor", "index", "python", "resolve", "tool")
_YOUNG = 60.0
"""Seconds in which a new directory may not be locked yet."""


class WorkDirectory:
    """A directory for one command. The kernel unlocks it when every process that has the descriptor is gone.

    Args:
        kind: What it is for: one of `_KINDS`.

    Attributes:
        descriptor: Open file of the directory, for processes that use it.
    """

    def __init__(self, kind: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{kind}-"))
        self.descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        # Where locks are not supported, nobody removes directories of others.
        with suppress(LocksUnsupported):
            hold_now(self.descriptor, self.path)

    def remove(self) -> None:
        """Remove the directory."""
        os.close(self.descriptor)
        shutil.rmtree(self.path, ignore_errors=True)


@contextmanager
def work_directory(kind: str) -> Iterator[Path]:
    """Yield a directory that is removed afterwards, or by a later one if this process is killed."""
    remove_abandoned()
    made = WorkDirectory(kind)
    try:
        yield made.path
    finally:
        made.remove()


def remove_abandoned() -> None:
    """Remove the directories of commands whose processes are gone, such as after the crash of a worker."""
    for path in _own(Path(tempfile.gettempdir())):
        with suppress(OSError, LocksUnsupported):
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if hold_now(descriptor, path):
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(descriptor)


def _own(folder: Path) -> Iterator[Path]:
    prefixes = tuple(f"{_PREFIX}{kind}-" for kind in _KINDS)
    with os.scandir(folder) as entries:
        found = [entry for entry in entries if entry.name.startswith(prefixes) and entry.is_dir(follow_symlinks=False)]
    for entry in found:
        with suppress(FileNotFoundError):
            status = entry.stat(follow_symlinks=False)
            if status.st_uid == os.geteuid() and time.time() - status.st_mtime > _YOUNG:
                yield Path(entry.path)
