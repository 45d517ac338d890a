"""Files of locks: where they are, reading and writing them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from envbuilder.core.errors import InvalidInput, UsageError
from envbuilder.core.files import replacing
from envbuilder.core.text_files import read_text
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import load, was_written_here

SPEC = Path("envbuilder.yaml")
LOCK = Path("envbuilder.lock")


def lock_path(name: str | None) -> Path | None:
    """Return the lock that a name on the command line means; None if it can only be that of a row.

    Args:
        name: The path of a lock or of its directory; None means the lock in this directory.

    Raises:
        UsageError: There is no such lock.
    """
    if name is None:
        if LOCK.is_file():
            return LOCK
        hint = "`envbuilder lock` creates it" if SPEC.is_file() else "name an environment: `envbuilder list`"
        raise UsageError(f"{LOCK} not found in the current directory", hint=hint)
    path = Path(name)
    if path.is_file():
        return path
    if path.is_dir() and (path / LOCK).is_file():
        return path / LOCK
    if "/" in name or path.suffix == ".lock":
        raise UsageError(f"lock not found: {name}", hint="`envbuilder lock` creates one from an envbuilder.yaml")
    return None


def read_lock(path: Path) -> Lock:
    """Return the lock in a file.

    Raises:
        InvalidInput: The file is not a lock.
    """
    return load(read_text(path), str(path))


def replaced_lock(path: Path, progress: Callable[[str], None]) -> Lock | None:
    """Return the lock that a new one replaces; None if there is none, or an invalid one such as of another schema.

    Args:
        path: Path of the new lock.
        progress: Progress callback; receives one line of text.

    Raises:
        InvalidInput: The file is not a lock.
    """
    if not path.is_file():
        return None
    try:
        return read_lock(path)
    except InvalidInput as error:
        if not was_written_here(read_text(path)):
            raise
        fault = error.faults[0]
        progress(f"replacing a lock that is refused: {path}:{fault.line}: {fault.problem}")
        return None


def write_text(path: Path, text: str) -> None:
    """Write a file atomically: a concurrent reader or an interruption finds the old text or the new one."""
    with replacing(path) as stream:
        stream.write(text.encode())
