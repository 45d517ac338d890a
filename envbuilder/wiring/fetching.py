"""Files of locks in a directory, as `envbuilder fetch` collects them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from envbuilder.catalog.environments import BaseKind
from envbuilder.image.file_directory import FileDirectory, named_files
from envbuilder.image.gather import Unavailable
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.wiring.build_inputs import add_files, gatherer
from envbuilder.wiring.locks import obtain_lock
from envbuilder.wiring.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The outcome of `fetch_files`.

    Attributes:
        locks: The locks in the directory, in the order of the targets.
        files: Files in the directory, without the locks; sorted.
        size: Bytes of the files.
        registry_bases: Images that the locks are based on, and that are pulled during a build; sorted.
        missing: Files that are not in the directory, with the reason.
    """

    locks: tuple[Path, ...]
    files: tuple[Path, ...]
    size: int
    registry_bases: tuple[str, ...]
    missing: tuple[Unavailable, ...]


def fetch_files(session: Session, targets: Sequence[str], named: Sources, folder: Path, *, offline: bool) -> Fetched:
    """Write every file that some locks need into a directory, from there, the store or their sources.

    Without a target, those of the lock in this directory. Offline, nothing is downloaded.

    Raises:
        UsageError: A target is unknown, or its lock is out of date.
        DiskFull: There is no room.
    """
    directory = FileDirectory(folder=folder, store=session.store, progress=session.progress)
    locks: list[Path] = []
    files: set[Path] = set()
    missing: list[Unavailable] = []
    bases: set[str] = set()
    names: Sequence[str | None] = targets or (None,)
    for target in names:
        lock, sources = obtain_lock(session, target, named)
        add_files(session, lock, sources, offline=offline)
        wanted = named_files(lock)
        directory.take(wanted)
        missing += gatherer(session, sources, offline=offline).fetch(lock)
        files |= set(directory.put(wanted))
        locks.append(directory.put_lock(lock))
        bases |= {lock.base.image} if lock.base.kind is BaseKind.IMAGE else set()
    return Fetched(
        locks=tuple(locks),
        files=tuple(sorted(files)),
        size=sum(path.stat().st_size for path in files),
        registry_bases=tuple(sorted(bases)),
        missing=tuple(missing),
    )
