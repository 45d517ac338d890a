"""Interpretation of ENV|LOCK on a command line: an environment, a lock, or the lock of the current directory."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.version import Version

from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.selection import named, select
from envbuilder.core.errors import Fault, InvalidInput, UsageError
from envbuilder.core.files import read_text
from envbuilder.core.references import image_name
from envbuilder.core.yaml.documents import read
from envbuilder.core.yaml.structured import line_of
from envbuilder.lock.container_settings import workdir_problem
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import LOCK, SPEC, lock_path, read_lock
from envbuilder.lock.own_files import surveyed
from envbuilder.lock.publisher_places import relative_to
from envbuilder.lock.spec import read_spec
from envbuilder.lock.spec_values import Spec

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
    path = lock_path(name)
    if path is not None:
        return _lock_target(path)
    assert name is not None  # noqa: S101  `lock_path` refuses None where there is no lock
    return RowTarget(
        spec=Spec(environment=select(catalog, named(catalog, name).id, tensorflow).id, tensorflow=tensorflow)
    )


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
    """Return the spec in a file; interpreter archives, directories of publishers and own files are relative to it.

    Raises:
        UsageError: There is no such file.
        InvalidInput: It is invalid.
    """
    if not path.is_file():
        raise UsageError(f"file not found: {path}", hint="`envbuilder init ENV` writes one")
    text = read_text(path)
    spec = read_spec(text, str(path))
    root = read(text, str(path)).root
    files = surveyed(spec.files, path.parent, str(path), lambda path: line_of(root, ("files", path)))
    if problem := workdir_problem(spec.settings.workdir, (file.path for file in files)):
        raise InvalidInput((Fault(file=str(path), line=line_of(root, ("workdir",)), field="workdir", problem=problem),))
    archives = tuple(str(path.parent / archive) for archive in spec.sources.python_archives)
    publishers = tuple((name, relative_to(place, path.parent)) for name, place in spec.sources.publishers)
    return replace(
        spec,
        files=files,
        sources=replace(spec.sources, python_archives=archives, publishers=publishers),
    )


def _lock_target(path: Path) -> LockTarget:
    beside = path.parent / SPEC
    spec = load_spec(beside) if path.name == LOCK.name and beside.is_file() else None
    return LockTarget(path=path, lock=read_lock(path), spec=spec)
