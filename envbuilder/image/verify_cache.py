"""Verification of everything in the cache."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from envbuilder.core.cache_directories import ROOMS, TREES, bytes_of, entries_of, remove
from envbuilder.core.digests import digest_of_file
from envbuilder.core.tree_manifests import State, compare, differences, manifest_of
from envbuilder.image.base.tree_store import TreeStore
from envbuilder.image.layers.records import Records
from envbuilder.image.running.image_runner import in_use
from envbuilder.oci.store import Store

_THREADS = 2
_SHOWN = 3
_TWO_DIGITS, _REST, _DIGITS = (re.compile(rf"[0-9a-f]{{{count}}}") for count in (2, 62, 64))
_VISIBLE = re.compile(r"[^.].*", re.DOTALL)
_TAR = re.compile(r"[0-9a-f]{12}\.tar")


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePart:
    """A part of the cache that was read.

    Attributes:
        bytes: Bytes on disk.
    """

    holds: str
    count: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A damaged item in the cache."""

    path: Path
    reason: str
    removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheState:
    """The result of verifying a cache.

    Attributes:
        damaged: Damaged items, sorted by path.
        unchecked: Names of directories without recorded digests, sorted.
    """

    parts: tuple[CachePart, ...]
    damaged: tuple[Damage, ...]
    unchecked: tuple[str, ...]


def verify_cache(
    cache: Path, store: Store, records: Records, progress: Callable[[str], None], *, removing: bool
) -> CacheState:
    """Read and verify a whole cache.

    Damaged items are removed if `removing` is set, unless a command uses them; this waits until no build uses the
    store.
    """
    with store.alone() if removing else store.used():
        parts: list[CachePart] = []
        damaged: list[Damage] = []
        for holds, paths, check in _checks(cache, store):
            part = CachePart(holds=holds, count=len(paths), bytes=bytes_of(*paths))
            progress(f"reading {holds}: {part.count}")
            with ThreadPoolExecutor(_THREADS) as pool:
                reasons = list(pool.map(check, paths))
            parts.append(part)
            found = [Damage(path=path, reason=why) for path, why in zip(paths, reasons, strict=True) if why]
            damaged += [_removed(each, store) for each in found] if removing else found
        if removing or not damaged:
            # Reading the record of an image removes a damaged configuration.
            found = [
                Damage(path=path, reason="the record has changed since it was written") for path in records.damaged()
            ]
            damaged += [_removed(each, store) for each in found] if removing else found
    return CacheState(
        parts=tuple(part for part in parts if part.count),
        damaged=tuple(sorted(damaged, key=lambda each: each.path)),
        unchecked=tuple(sorted({room.name for room in ROOMS} - {"bases", "files", TREES.name})),
    )


def _checks(cache: Path, store: Store) -> Iterator[tuple[str, list[Path], Callable[[Path], str]]]:
    """Yield the parts to read: a description, the paths, and a function that returns what is wrong with a path."""
    bases = cache / "bases"
    yield "downloads and layers", _files_in(_named(store.folder / "sha256", _TWO_DIGITS), _REST), _wrong_blob
    yield (
        "unpacked images",
        [path for path in entries_of(cache, TREES) if path.name[0] != "."],
        partial(_wrong_tree, store, "tree"),
    )
    yield "unpacked interpreters", _named(store.folder / "targets", _DIGITS), partial(_wrong_tree, store, "target")
    archives = _files_in(_named(cache / "files", _DIGITS), _VISIBLE)
    yield "interpreter archives and tools", archives, _wrong_file
    known = {tree.path: tree.digest for tree in TreeStore(bases).all()}
    yield "Debian bases", _files_in(_named(bases, _VISIBLE), _TAR), partial(_wrong_base, known)


def _named(directory: Path, names: re.Pattern[str]) -> list[Path]:
    """Return the paths with our names in a directory, sorted; others are ignored."""
    try:
        return sorted(path for path in directory.iterdir() if names.fullmatch(path.name))
    except OSError:
        return []


def _files_in(directories: list[Path], names: re.Pattern[str]) -> list[Path]:
    """Return the files with our names in some directories, sorted; links that lead outside are returned themselves."""
    found = [[path] if path.is_symlink() else _named(path, names) for path in directories]
    return [path for paths in found for path in paths]


def _wrong_blob(path: Path) -> str:
    return _differs(path, f"sha256:{path.parent.name}{path.name}")


def _wrong_file(path: Path) -> str:
    return _differs(path, f"sha256:{path.parent.name}")


def _wrong_base(known: dict[Path, str], path: Path) -> str:
    return _differs(path, known[path]) if path in known else "its description is damaged or missing"


def _differs(path: Path, digest: str) -> str:
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return "not a regular file"
        return "" if digest_of_file(path) == digest else f"its digest is not {digest}"
    except FileNotFoundError:
        return ""  # Another command replaced it meanwhile.
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def _wrong_tree(store: Store, kind: str, path: Path) -> str:
    # The process that unpacks a tree holds this lock until the manifest is written.
    with store.only_one(f"{kind}-{path.name}"):
        state = compare(path, fully=True)
        if state is State.UNKNOWN:
            return "its expected content is unknown: its manifest is damaged or missing"
        if state is not State.CHANGED:
            return ""
        paths = differences(path)
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return f"changed since it was unpacked: {', '.join(paths[:_SHOWN]) or '.'}{more}"


def _removed(damage: Damage, store: Store) -> Damage:
    if store.is_held(in_use(damage.path.name)):
        return Damage(path=damage.path, reason=f"{damage.reason}; kept, as another command uses it")
    remove(damage.path)
    remove(manifest_of(damage.path))
    return Damage(path=damage.path, reason=damage.reason, removed=not os.path.lexists(damage.path))
