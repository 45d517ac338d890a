"""Interpretation of ENV|LOCK on a command line: an environment, a lock, or the lock of the current directory."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.version import Version

from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.selection import named, select
from envbuilder.core.errors import InvalidInput, UsageError
from envbuilder.core.files import replacing
from envbuilder.core.references import image_name
from envbuilder.core.text_files import read_text
from envbuilder.core.yaml.documents import read
from envbuilder.core.yaml.fields import line_of
from envbuilder.lock.lock import Lock, Spec
from envbuilder.lock.lockfile import load, was_written_here
from envbuilder.lock.own_files import surveyed
from envbuilder.lock.spec import read_spec

SPEC = Path("envbuilder.yaml")
LOCK = Path("envbuilder.lock")
_MOST_CHARACTERS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class LockTarget:
    """An existing lock.

    Attributes:
        path: Path of its file.
        lock: The lock.
        spec: The spec beside it; None if there is none.
    """

    path: Path
    lock: Lock
    spec: Spec | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTarget:
    """An environment, with a spec that only names it."""

    spec: Spec


def target(catalog: Catalog, name: str | None, *, tensorflow: Version | None = None) -> LockTarget | RowTarget:
    """Return the lock or environment for an argument.

    Args:
        catalog: The environments.
        name: An environment, as `named` finds it, or the path of a lock; None for the lock in the current directory.
        tensorflow: Patch release; only for an environment, since a lock has its own.

    Raises:
        UsageError: There is no such environment or lock.
    """
    if name is None:
        if LOCK.is_file():
            return _lock_target(LOCK)
        hint = "`envbuilder lock` makes it" if SPEC.is_file() else "name an environment: `envbuilder list`"
        raise UsageError(f"there is no {LOCK} here", hint=hint)
    path = Path(name)
    if path.is_file():
        return _lock_target(path)
    if path.is_dir() and (path / LOCK).is_file():
        return _lock_target(path / LOCK)
    if "/" in name or path.suffix == ".lock":
        raise UsageError(f"there is no lock {name}", hint="`envbuilder lock` makes one from an envbuilder.yaml")
    return RowTarget(
        spec=Spec(environment=select(catalog, named(catalog, name).id, tensorflow).id, tensorflow=tensorflow)
    )


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


def default_name(path: Path, environment: str, rows: Collection[str]) -> str:
    """Return the default name of an image: the directory of an `envbuilder.lock`, else the file's stem.

    Args:
        path: The lock.
        environment: The environment of the lock.
        rows: Ids of the catalog's environments, which a team's lock never uses as its name.
    """
    given = path.resolve().parent.name if path.name == LOCK.name else path.stem
    words = re.sub(r"[^a-z0-9]+", "-", given.lower())[:_MOST_CHARACTERS].strip("-") or environment
    try:
        return image_name(f"own-{words}" if words in rows else words)
    except ValueError:
        return f"own-{words}"


def load_spec(path: Path) -> Spec:
    """Return the spec in a file; interpreter archives and own files are relative to it.

    Raises:
        UsageError: There is no such file.
        InvalidInput: It is invalid.
    """
    if not path.is_file():
        raise UsageError(f"there is no {path}", hint="`envbuilder init ENV` writes one")
    text = read_text(path)
    spec = read_spec(text, str(path))
    root = read(text, str(path)).root
    archives = tuple(str(path.parent / archive) for archive in spec.sources.python_archives)
    return replace(
        spec,
        files=surveyed(spec.files, path.parent, str(path), lambda field: line_of(root, field)),
        sources=replace(spec.sources, python_archives=archives),
    )


def write_text(path: Path, text: str) -> None:
    """Write a file atomically: a concurrent reader or an interruption finds the old text or the new one."""
    with replacing(path) as stream:
        stream.write(text.encode())


def _lock_target(path: Path) -> LockTarget:
    beside = path.parent / SPEC
    spec = load_spec(beside) if path.name == LOCK.name and beside.is_file() else None
    return LockTarget(path=path, lock=read_lock(path), spec=spec)
