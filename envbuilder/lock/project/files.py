"""The texts of a project, within limits; symbolic links are not followed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from envbuilder.core.errors import UsageError
from envbuilder.core.files import open_regular
from envbuilder.lock.project.reading import reader_of

LARGEST = 8 << 20
"""Bytes of the largest file that is read; notebooks with pictures have several MiB."""
MOST = 5_000
"""Files that are read at most."""
SKIPPED = frozenset(
    {"__pycache__", "build", "dist", "env", "node_modules", "site-packages", "third_party", "vendor", "venv"}
)
"""Names of directories with builds, virtual environments and copies of other projects."""


def project_files(folder: Path) -> Mapping[str, str]:
    """Return the texts of the files of a project that may say something, by their path relative to it.

    Directories with hidden names, builds, virtual environments and copies of other projects are left out; so are files
    above `LARGEST`, and sources after the first `MOST`.

    Raises:
        UsageError: It is not a directory.
    """
    if not folder.is_dir():
        raise UsageError(f"not a directory: {folder}", hint="name the directory of a project")
    found: dict[str, str] = {}
    for path in _paths(folder):
        if len(found) == MOST:
            break
        text = _text(folder / path)
        if text is not None:
            found[path] = text
    return found


def _paths(folder: Path) -> Iterator[str]:
    for directory, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in SKIPPED and not name.startswith("."))
        below = Path(directory).relative_to(folder)
        for name in sorted(names):
            path = (below / name).as_posix()
            if reader_of(path):
                yield path


def _text(path: Path) -> str | None:
    if path.is_symlink():
        return None
    try:
        with open_regular(path) as stream:
            content = stream.read(LARGEST + 1)
    except OSError:
        return None
    return content.decode("utf-8-sig", errors="replace") if len(content) <= LARGEST else None
