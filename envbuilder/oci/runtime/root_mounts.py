"""Root for one run: an empty directory with the parts of the tree mounted into it, so that the tree is not changed.

Mount points that the tree lacks (a file in `/opt/deep`, the directory `/mnt/data`) exist in this root only.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.errors import UsageError
from envbuilder.oci.runtime import container_init
from envbuilder.oci.runtime.sandbox import Task

PROC, DEV, SYS, SHM = "/proc", "/dev", "/sys", "/dev/shm"  # noqa: S108  in the new root
WRITABLE = ("/tmp", "/run")  # noqa: S108  in the new root
_OWN = (PROC, DEV, SYS, *WRITABLE)
HOSTNAME = "envbuilder"
_RESOLVERS, _HOSTS = "/etc/resolv.conf", "/etc/hosts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """A bind mount of a path of this host into the new root.

    Attributes:
        source: Path on this host.
        target: Absolute path in the root.
    """

    source: Path
    target: str
    writable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """A directory of the tree, with changes in other directories.

    Attributes:
        lower: The directory; never changed.
        upper: Receives the changes.
        work: Empty directory on the file system of `upper`.
        target: Absolute path in the root.
    """

    lower: Path
    upper: Path
    work: Path
    target: str

    def options(self, *, as_root: bool) -> tuple[str, ...]:
        """Return the options of the mount.

        Args:
            as_root: Whether root of this host mounts it. In a user namespace, the records of removed files are
                attributes that users may set (Linux 5.11, https://docs.kernel.org/filesystems/overlayfs.html).
        """
        paths = {"lowerdir": self.lower, "upperdir": self.upper, "workdir": self.work}
        given = tuple(f"{name}={_escaped(str(path))}" for name, path in paths.items())
        return given if as_root else (*given, "userxattr")


@dataclass(frozen=True, slots=True, kw_only=True)
class Skeleton:
    """A root before the mounts.

    Attributes:
        root: The directory that becomes the root.
        binds: Mounts in order, after the file systems of `empty`.
        parts: Mounts of the parts of the tree, before those.
        overlays: Parts of the tree that can be changed, instead of `parts`; their mount points are not created yet.
        empty: Directories that receive an empty file system of their own.
        copied: Location of `copy_out` on this host, as a directory and the path in it; empty for none.
    """

    root: Path
    parts: tuple[Bind, ...]
    empty: tuple[str, ...]
    binds: tuple[Bind, ...]
    copied: tuple[Path, str] | None
    overlays: tuple[Overlay, ...] = ()


def make_skeleton(task: Task, work: Path) -> Skeleton:
    """Create the root for a task in an empty directory, which also receives the task's files and its output files.

    Raises:
        UsageError: A path of this host to mount does not exist.
    """
    kept = _holder(resolved(task.tree, task.copy_out)) if task.copy_out else ""
    binds = (*_mounts(task), *_files(task, work))
    if task.changes:
        overlays = _writable_root(task.tree, task.changes)
        root = task.changes / "root"
        return Skeleton(root=root, parts=(), empty=WRITABLE, binds=binds, copied=None, overlays=overlays)
    wanted = [bind.target for bind in binds if not _below_own(bind.target)]
    root = work / "root"
    parts = _make_root(task.tree, root, wanted, task.folder)
    for bind in binds:
        if not _below_own(bind.target):
            _make_point(root, bind)
    writable: tuple[Bind, ...] = ()
    if kept:
        outside = work / "kept"
        outside.mkdir()
        outside.chmod(0o1777)
        writable = (Bind(source=outside, target=kept, writable=True),)
    return Skeleton(
        root=root,
        parts=parts,
        empty=tuple(path for path in WRITABLE if path != kept),
        binds=(*writable, *binds),
        copied=_copied(task, work, kept),
    )


def _writable_root(tree: Path, changes: Path) -> tuple[Overlay, ...]:
    """Create the root in a directory for changes, which may have those of an earlier run.

    Returns:
        Shape: one for each directory at the top of the tree; files and links there are copied.

    Raises:
        UsageError: The earlier changes replaced one of these directories.
    """
    root, overlays = changes / "root", []
    root.mkdir(mode=0o755, exist_ok=True)
    root.chmod(0o755)
    with os.scandir(tree) as entries:
        found = sorted((entry for entry in entries if f"/{entry.name}" not in _OWN), key=lambda one: one.name)
    for entry in found:
        place = root / entry.name
        if entry.is_symlink() or not entry.is_dir():
            if entry.is_symlink() or entry.is_file():
                _copy_once(Path(entry.path), place)
            continue
        _directory(place)
        for name in ("upper", "work"):
            _directory(changes / name / entry.name)
        upper = changes / "upper" / entry.name
        status = entry.stat()
        # The attributes of the upper directory are those of both.
        upper.chmod(stat.S_IMODE(status.st_mode))
        if os.geteuid() == 0:
            os.chown(upper, status.st_uid, status.st_gid)
        work = changes / "work" / entry.name
        overlays.append(Overlay(lower=Path(entry.path), upper=upper, work=work, target=f"/{entry.name}"))
    for path in _OWN:
        _directory(root / path[1:])
        (root / path[1:]).chmod(0o1777 if path in WRITABLE else 0o755)
    return tuple(overlays)


def _copy_once(source: Path, place: Path) -> None:
    if not os.path.lexists(place):
        shutil.copy2(source, place, follow_symlinks=False)


def _directory(place: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)
    if place.is_symlink():
        raise UsageError(f"{place} is a symbolic link: the kept changes are damaged", hint="keep changes elsewhere")


def _escaped(path: str) -> str:
    return path.replace("\\", "\\\\").replace(":", "\\:").replace(",", "\\,")


def resolved(tree: Path, path: str) -> str:
    """Return an absolute path with links resolved inside the tree; missing parts are kept.

    Raises:
        UsageError: The path is not absolute, or has too many levels of symbolic links.
    """
    if not path.startswith("/"):
        raise UsageError(f"{path!r} is not an absolute path")
    try:
        return container_init.resolved(str(tree), path)
    except container_init.TooManyLinks as error:
        raise UsageError(str(error)) from None


def _holder(path: str) -> str:
    """Return the writable directory that contains a path; empty if there is none."""
    return next((folder for folder in WRITABLE if path.startswith(f"{folder}/")), "")


def _below_own(path: str) -> bool:
    return any(path.startswith(f"{own}/") for own in _OWN)


def _mounts(task: Task) -> tuple[Bind, ...]:
    shared = [(_RESOLVERS, _RESOLVERS)] if task.host_network and Path(_RESOLVERS).exists() else []
    binds = []
    for source, target, writable in (
        *((source, target, False) for source, target in (*shared, *task.mounts)),
        *((source, target, True) for source, target in task.shared),
    ):
        if not Path(source).exists():
            raise UsageError(f"{source} cannot be mounted: it does not exist")
        binds.append(Bind(source=Path(source).resolve(), target=resolved(task.tree, target), writable=writable))
    return tuple(binds)


def _files(task: Task, work: Path) -> tuple[Bind, ...]:
    folder = work / "files"
    folder.mkdir()
    binds = []
    for number, (path, content) in enumerate((*task.files, *_hosts(task))):
        place = folder / str(number)
        place.write_bytes(content)
        place.chmod(0o644)
        binds.append(Bind(source=place, target=resolved(task.tree, path)))
    return tuple(binds)


def _hosts(task: Task) -> tuple[tuple[str, bytes], ...]:
    """Return the hosts of this machine and the task's own name, which programs look up (MPI and Gloo, for two)."""
    if not task.host_network or any(path == _HOSTS for path, _ in task.files):
        return ()
    here = Path(_HOSTS).read_bytes() if Path(_HOSTS).exists() else b"127.0.0.1 localhost\n"
    return ((_HOSTS, here.rstrip(b"\n") + f"\n127.0.0.1 {HOSTNAME}\n".encode()),)


def _make_root(tree: Path, root: Path, targets: Sequence[str], folder: str) -> tuple[Bind, ...]:
    """Create the directories that cannot come from the tree, and return the mounts for the rest."""
    start = resolved(tree, folder)
    missing = [path for path in targets if not _there(tree, path)]
    missing += [] if _there(tree, start) or _below_own(start) else [start]
    opened = {"/", *(above for path in missing for above in _above(path))}
    binds: list[Bind] = []
    for path in sorted(opened):
        place = root / path[1:]
        place.mkdir()
        # runc gives a tmpfs the mode of its mount point: https://github.com/opencontainers/runc/issues/3911
        place.chmod(0o1777 if path.endswith("tmp") else 0o755)
        (root / path[1:]).chmod(0o755)
        if _there(tree, path):
            binds += _fill(tree, root, path, opened)
    for path in (*_OWN, start):
        place = root / path[1:]
        if not place.exists() and not _below_own(path):
            place.mkdir(mode=0o755, parents=True)
        if path in WRITABLE:
            place.chmod(0o1777)  # runc copies the mode of the mount point
    return tuple(binds)


def _there(tree: Path, path: str) -> bool:
    return (tree / path[1:]).exists()


def _above(path: str) -> list[str]:
    parts = path.split("/")[1:-1]
    return ["/" + "/".join(parts[: depth + 1]) for depth in range(len(parts))]


def _fill(tree: Path, root: Path, folder: str, opened: set[str]) -> list[Bind]:
    binds = []
    with os.scandir(tree / folder[1:]) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            path = f"{folder.rstrip('/')}/{entry.name}"
            place = root / path[1:]
            if path in opened or path in _OWN:
                continue
            if entry.is_symlink():
                place.symlink_to(Path(entry.path).readlink())
            elif entry.is_dir():
                place.mkdir()
                binds.append(Bind(source=Path(entry.path), target=path))
            elif entry.is_file():
                place.touch()
                binds.append(Bind(source=Path(entry.path), target=path))
    return binds


def _make_point(root: Path, bind: Bind) -> None:
    """Create a mount point if it belongs to the new root; otherwise the tree has it."""
    place = root / bind.target[1:]
    if place.exists() or not place.parent.is_dir() or place.is_symlink():
        return
    if bind.source.is_dir():
        place.mkdir()
    else:
        place.touch()


def _copied(task: Task, work: Path, kept: str) -> tuple[Path, str] | None:
    if not task.copy_out:
        return None
    path = resolved(task.tree, task.copy_out)
    for number, (target, _) in enumerate(task.files):
        if resolved(task.tree, target) == path:
            return work / "files", str(number)
    if kept:
        return work / "kept", path.removeprefix(f"{kept}/")
    return task.tree, path[1:]
