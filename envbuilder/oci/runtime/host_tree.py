"""Root file system with programs and libraries of this host, and nothing else of it."""

from __future__ import annotations

from pathlib import Path

_SYSTEM = ("bin", "lib", "lib32", "lib64", "sbin")
_FILES = ("/etc/ld.so.cache", "/etc/localtime")


def host_tree(folder: Path, program: Path, home: Path | None = None) -> tuple[tuple[str, str], ...]:
    """Create a root in an empty directory, and return the mounts for it, as in `Task.mounts`.

    Args:
        folder: Becomes the root; receives links such as /lib, as on this host.
        program: Program to run.
        home: Directory of files that it needs outside /usr; None for the program alone.
    """
    folder.chmod(0o755)
    mounts = ["/usr", *(path for path in _FILES if Path(path).exists())]
    for name in _SYSTEM:
        place = Path("/", name)
        if place.is_symlink():
            (folder / name).symlink_to(place.readlink())
        elif place.is_dir():
            mounts.append(str(place))
    needed = str(home or program)
    if not any(needed.startswith(f"{mount}/") for mount in mounts) and needed not in mounts:
        mounts.append(needed)
    return tuple((path, path) for path in mounts)
