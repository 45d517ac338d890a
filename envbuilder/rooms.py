"""The directories of the cache: what each of them holds, how much, whether somebody uses it, and removing it."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from envbuilder.flock import hold, hold_now

_LOCKS = ".in-use"
_HEX = "[0-9a-f]{64}"
_WORK = r"(?:run|assemble|build-.+|validate|static|verify|audit|reproduce|debs|added)-[a-z0-9_]{8}|proving-\d+"
_UV = r"[a-z-]+-v\d+|CACHEDIR\.TAG|\.lock|\.git|\.gitignore|\.tmp.*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A directory of the cache.

    Attributes:
        name: Its name.
        holds: What it holds.
        entries: Pattern of the names in it; nothing else in it is ever removed, so a cache that was put into a
            directory with other things does not take them away.
        remade: Whether its content only saves time, so that `cache prune` removes it without `--all`.
        marker: File that a directory in it has; empty for none. Names that begin with a dot need none.
    """

    name: str
    holds: str
    entries: re.Pattern[str]
    remade: bool = False
    marker: str = ""

    def owns(self, path: Path) -> bool:
        """Return True if something in the directory is ours."""
        if not self.entries.fullmatch(path.name):
            return False
        return not self.marker or path.name.startswith(".") or (path / self.marker).is_file()


TREES = Room(
    name="trees",
    holds="unpacked images",
    entries=re.compile(rf"{_HEX}|\.{_HEX}\.(?:manifest|[0-9a-f]+\.part)"),
    remade=True,
)
ROOMS = (
    Room(name="bases", holds="Debian bases", entries=re.compile(r"\.?[a-z0-9][a-z0-9_.-]*"), marker="current"),
    Room(name="files", holds="interpreter archives and tools", entries=re.compile(_HEX)),
    Room(name="locks", holds="locks of environments", entries=re.compile(r".+"), marker="envbuilder.lock"),
    Room(name="logs", holds="logs of builds", entries=re.compile(r".+-\d{8}T\d{6}Z\.log")),
    Room(name="pythons", holds="interpreters of uv", entries=re.compile(r"cpython-.+|\.(?:lock|temp|gitignore|cache)")),
    TREES,
    Room(name="uv", holds="downloads of uv", entries=re.compile(_UV), remade=True),
    Room(name="work", holds="leftovers of interrupted runs", entries=re.compile(_WORK), remade=True),
)


def use_room(cache: Path, name: str) -> tuple[Path, int | None]:
    """Return a directory of the cache, and a file descriptor that keeps others from pruning it until it is closed.

    The descriptor is None in a cache that this account may only read.

    Raises:
        LocksUnsupported: The file system of the cache has no locks.
    """
    place = cache / _LOCKS
    try:
        handle = _opened(place / name)
    except OSError as error:
        if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
            return cache / name, None
        raise
    try:
        hold(handle, place / name, shared=True)
    except BaseException:
        os.close(handle)
        raise
    return cache / name, handle


@contextmanager
def unused(cache: Path, name: str) -> Iterator[bool]:
    """Yield True and keep others out of a directory while the block runs; False when somebody uses it."""
    place = cache / _LOCKS
    handle = _opened(place / name)
    try:
        yield hold_now(handle, place / name)
    finally:
        os.close(handle)


def entries_of(cache: Path, room: Room) -> tuple[Path, ...]:
    """Return what is ours in a directory of the cache, sorted; nothing when it is a link to somewhere else."""
    place = cache / room.name
    if place.is_symlink() or not place.is_dir():
        return ()
    return tuple(sorted(path for path in place.iterdir() if room.owns(path)))


def bytes_of(*paths: Path) -> int:
    """Return the bytes on disk of files and directories, a file with several names once; links are not followed."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for path in (each for root in paths for each in _walk(root)):
        with suppress(OSError):
            status = path.lstat()
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                total += status.st_blocks * 512
    return total


def remove(path: Path) -> int:
    """Remove a file or a directory, also where directories may not be written; return the bytes freed.

    What cannot be removed stays, and does not count. Links are removed, never followed.
    """
    before = bytes_of(path)
    if path.is_dir() and not path.is_symlink():
        for directory in [each for each in _walk(path) if each.is_dir() and not each.is_symlink()]:
            with suppress(OSError):
                if directory.stat().st_mode & 0o700 != 0o700:
                    directory.chmod(stat.S_IMODE(directory.stat().st_mode) | 0o700)
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
    return before - (bytes_of(path) if os.path.lexists(path) else 0)


def _opened(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)


def _walk(root: Path) -> Iterator[Path]:
    """Yield a path and all below it, each directory before what it holds."""
    yield root
    if root.is_dir() and not root.is_symlink():
        for place, folders, files in os.walk(root):
            yield from (Path(place, name) for name in (*folders, *files))
