"""Directories of the cache: ownership, content, size, use, and removal.

Programs in the cache are executed. Therefore everything in it must belong to this user or to root, and must not be
writable by others.
"""

from __future__ import annotations

import errno
import grp
import os
import pwd
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.errors import UsageError
from envbuilder.core.file_locks import hold, hold_now, open_lock

STORE = "store"
KEPT = "kept"
KEPT_MARKER = "image.json"
"""File that states the image of the changes in a directory."""
_LOCKS = ".in-use"
_NOT_ALLOWED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_HEX = "[0-9a-f]{64}"
_WORK = r"(?:run|fan-out|assemble|build-.+|validate|static|verify|audit|reproduce|debs|added)-[a-z0-9_]{8}|proving-\d+"
_UV = r"[a-z-]+-v\d+|CACHEDIR\.TAG|\.lock|\.git|\.gitignore|\.tmp.*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """A directory of the cache.

    Attributes:
        holds: Description of its content.
        entries: Pattern of the names in it; nothing else is ever removed, so that unrelated files in the directory of a
            cache are kept.
        remade: Whether its content can be made again, so that `cache prune` removes it without `--all`.
        marker: File that each directory in it contains; empty for none. Names that begin with a dot need none.
        kept: Whether even `cache prune --all` keeps it: because it serves security, or because it is work of the user.
        leftovers: Pattern of the names of files of killed processes; None if they have no distinctive names.
    """

    name: str
    holds: str
    entries: re.Pattern[str]
    remade: bool = False
    marker: str = ""
    kept: bool = False
    leftovers: re.Pattern[str] | None = None

    def owns(self, path: Path) -> bool:
        """Return True if an entry of the directory belongs to envbuilder."""
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
    Room(
        name="bases",
        holds="Debian bases",
        entries=re.compile(r"\.?[a-z0-9][a-z0-9_.-]*"),
        marker="current",
        leftovers=re.compile(r"\..+"),
    ),
    Room(
        name="catalogs",
        holds="catalogs of teams",
        entries=re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})(?:-[0-9a-f]{12})?|\.fetch-.+"),
        remade=True,
        leftovers=re.compile(r"\.fetch-.+"),
    ),
    Room(name="fan-out", holds="results of incomplete calls with --on", entries=re.compile(_HEX)),
    Room(name="files", holds="interpreter archives and tools", entries=re.compile(_HEX)),
    Room(
        name=KEPT,
        holds="changes of images (run --keep)",
        entries=re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*"),
        marker=KEPT_MARKER,
        kept=True,
    ),
    Room(name="locks", holds="locks of environments", entries=re.compile(r".+"), marker="envbuilder.lock"),
    Room(name="logs", holds="logs of builds", entries=re.compile(r".+-\d{8}T\d{6}Z\.log")),
    Room(name="pythons", holds="interpreters of uv", entries=re.compile(r"cpython-.+|\.(?:lock|temp|gitignore|cache)")),
    Room(name="releases", holds="dates of Debian's suites", entries=re.compile(r"[a-z]+(?:-[a-z]+)*"), kept=True),
    Room(name="seen", holds="records of notices", entries=re.compile(_HEX)),
    TREES,
    Room(name="uv", holds="downloads of uv", entries=re.compile(_UV), remade=True),
    Room(
        name="work",
        holds="leftovers of interrupted runs",
        entries=re.compile(_WORK),
        remade=True,
        leftovers=re.compile(_WORK),
    ),
)


def check_owner(cache: Path, uid: int | None = None) -> None:
    """Raise UsageError if another user could have changed the cache; a cache of root may be readable by all.

    Args:
        cache: The cache directory, which need not exist.
        uid: User of the cache; None for that of this process.

    Raises:
        UsageError: The cache, or a directory in it, belongs to another user, or is writable by others.
    """
    inside = [cache / name for name in (_LOCKS, STORE, *(room.name for room in ROOMS))]
    with suppress(OSError), os.scandir(cache / STORE) as found:
        # Links are tested first, since is_dir raises an error for a link to itself.
        inside += [Path(entry) for entry in found if entry.is_symlink() or entry.is_dir()]
    for path in (cache, *inside):
        _check_owner(path, os.geteuid() if uid is None else uid)


def room_of(cache: Path, name: str) -> Path:
    """Return a directory of the cache; create it if this user may do so.

    Raises:
        UsageError: As in `check_owner`; or the cache does not exist and cannot be created.
    """
    check_owner(cache)
    try:
        _make_private(cache / name)
    except OSError as error:
        if not cache.is_dir() or error.errno not in _NOT_ALLOWED:
            raise UsageError(
                f"the cache directory {cache} cannot be used: {error.filename}: {error.strerror}",
                hint="use another directory: `export ENVBUILDER_CACHE=DIR`",
            ) from error
    return cache / name


def use_room(cache: Path, name: str) -> tuple[Path, int | None]:
    """Return a directory of the cache, and a file descriptor that prevents pruning until it is closed.

    If the directory is unused, the files of killed processes are removed first. The descriptor is None in a cache that
    this user may only read.

    Raises:
        UsageError: As in `room_of`.
        LocksUnsupported: The file system of the cache has no locks.
    """
    path, lock = room_of(cache, name), cache / _LOCKS / name
    try:
        handle = _opened(lock)
    except OSError as error:
        if error.errno in _NOT_ALLOWED:
            return path, None
        raise
    try:
        if hold_now(handle, lock):
            _sweep(cache, name)
        hold(handle, lock, shared=True)
    except BaseException:
        os.close(handle)
        raise
    return path, handle


@contextmanager
def unused(cache: Path, name: str) -> Iterator[bool]:
    """Yield True and lock a directory while the block runs; yield False if it is in use."""
    place = cache / _LOCKS
    handle = _opened(place / name)
    try:
        yield hold_now(handle, place / name)
    finally:
        os.close(handle)


def entries_of(cache: Path, room: Room) -> tuple[Path, ...]:
    """Return envbuilder's entries of a directory of the cache, sorted; none if it is a link."""
    place = cache / room.name
    if place.is_symlink() or not place.is_dir():
        return ()
    return tuple(sorted(path for path in place.iterdir() if room.owns(path)))


def bytes_of(*paths: Path) -> int:
    """Return the bytes on disk of files and directories; count hard links once, and do not follow links."""
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
    """Remove a file or a directory, also if directories are read-only; return the bytes freed.

    Entries that cannot be removed are kept and not counted. Links are removed, never followed.
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


def _sweep(cache: Path, name: str) -> None:
    for room in ROOMS:
        if room.name == name and room.leftovers:
            for path in entries_of(cache, room):
                if room.leftovers.fullmatch(path.name):
                    remove(path)


def _opened(path: Path) -> int:
    _make_private(path.parent)
    return open_lock(path)


def _make_private(path: Path) -> None:
    """Create a directory and its parents with access for this user only, regardless of the umask."""
    for each in (*reversed(path.parents), path):
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)


def _check_owner(path: Path, uid: int) -> None:
    try:
        statuses = [path.lstat(), path.stat()]
    except OSError:
        return  # It is missing, or a dangling link.
    for status in statuses:
        if status.st_uid not in {0, uid}:
            raise UsageError(
                f"the cache directory {path} belongs to {_account(status.st_uid)}, who could change the programs that "
                "envbuilder runs from there",
                hint="use a directory of your own: `export ENVBUILDER_CACHE=DIR`",
            )
    if _others_may_write(statuses[1], uid):
        mode = stat.S_IMODE(statuses[1].st_mode)
        mine = statuses[1].st_uid == uid and not mode & stat.S_ISVTX
        raise UsageError(
            f"the cache directory {path} is writable by other users (mode {mode:04o}), who could change the "
            "programs that envbuilder runs from there",
            hint=f"`chmod -R go-w {path}`, then `envbuilder cache verify`"
            if mine
            else "use a directory of your own: `export ENVBUILDER_CACHE=DIR`",
        )


def _others_may_write(status: os.stat_result, uid: int) -> bool:
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_private_group(status.st_gid, uid)


def _is_private_group(gid: int, uid: int) -> bool:
    """Return True if a user is the only one in the group of the same name, as on systems with a umask of 002."""
    try:
        account, group = pwd.getpwuid(uid), grp.getgrgid(gid)
    except KeyError:
        return False
    return account.pw_gid == gid and group.gr_name == account.pw_name and not {*group.gr_mem} - {account.pw_name}


def _account(uid: int) -> str:
    try:
        return f"the user {pwd.getpwuid(uid).pw_name}"
    except KeyError:
        return f"another user (uid {uid})"


def _walk(root: Path) -> Iterator[Path]:
    """Yield a path and all below it, parents first."""
    yield root
    if root.is_dir() and not root.is_symlink():
        for place, folders, files in os.walk(root):
            yield from (Path(place, name) for name in (*folders, *files))
