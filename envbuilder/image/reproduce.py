"""Reproducibility test: build a lock twice in different surroundings, and compare."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import dump
from envbuilder.oci.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Surroundings of a build, which must not affect its result.

    Attributes:
        jobs: Maximum number of layers made at once.
        user: User to run as; empty for the current one.
    """

    name: str
    environ: tuple[tuple[str, str], ...]
    umask: int
    jobs: int
    user: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildAttempt:
    """One build.

    Attributes:
        manifest: Digest of the manifest.
        layers: Id and digest of each layer, lowest first.
        seconds: Wall time.
    """

    surroundings: Surroundings
    manifest: str
    layers: tuple[tuple[str, str], ...]
    seconds: float


PLAIN = Surroundings(
    name="plain",
    environ=(("LC_ALL", "C.UTF-8"), ("PYTHONHASHSEED", "1"), ("TZ", "UTC")),
    umask=0o022,
    jobs=1,
)
ODD = Surroundings(
    name="odd",
    environ=(("LC_ALL", "C"), ("PYTHONHASHSEED", "4242"), ("TZ", "Pacific/Kiritimati")),
    umask=0o077,
    jobs=4,
)


class IsolatedBuild(Protocol):
    """Builds in surroundings of its own."""

    def __call__(self, folder: Path, surroundings: Surroundings) -> BuildAttempt:
        """Build the lock in a directory with the cache that is there, and no network."""
        ...


def reproduce(  # noqa: PLR0913  what is built, of what, where and how
    lock: Lock,
    surroundings: Iterable[Surroundings],
    build: IsolatedBuild,
    *,
    store: Store,
    digests: Iterable[str],
    work: Path,
) -> tuple[BuildAttempt, ...]:
    """Build a lock once in each of some surroundings, from its files alone; known digests and layers are not used.

    The store must contain the files with these digests; the owner of `work` removes it.

    Raises:
        BuildFailed: One of the builds failed.
        DiskFull: There is no room for them.
    """
    needed = sorted(set(digests))
    attempts = []
    for each in surroundings:
        folder = work / each.name
        _prepare(folder, lock, needed, store)
        attempts.append(build(folder, each))
        shutil.rmtree(folder, ignore_errors=True)
    return tuple(attempts)


def differences(attempts: Iterable[BuildAttempt]) -> tuple[str, ...]:
    """Return the ids of the layers that differ between any two attempts, lowest first."""
    listed = [dict(attempt.layers) for attempt in attempts]
    names: Mapping[str, None] = dict.fromkeys(name for layers in listed for name in layers)
    return tuple(name for name in names if len({layers.get(name) for layers in listed}) > 1)


def _prepare(folder: Path, lock: Lock, digests: Iterable[str], store: Store) -> None:
    """Prepare a directory with the lock, and a cache with its files."""
    folder.mkdir(parents=True)
    fresh = Store(folder=folder / "cache" / "store")
    for digest in digests:
        target = fresh.path(digest)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(store.path(digest), target)
        target.chmod(0o444)
    # Digests in a lock save unpacking what is in wheels; here they are what is to be proven.
    (folder / "envbuilder.lock").write_text(dump(replace(lock, image=None)), encoding="utf-8")
