"""Interpreter archives of the cache, without reading them."""

from __future__ import annotations

from pathlib import Path

from envbuilder.catalog.buildable import PackedPython
from envbuilder.core import structure
from envbuilder.core.files import read_json
from envbuilder.image.base.file_store import FileStore

NOTE = ".interpreter.json"
"""Beside an archive: its version and glibc, which take about a second to read from it. Written by `keep_archive`."""


def packed_pythons(store: FileStore) -> tuple[PackedPython, ...]:
    """Return the interpreters of the archives in a store that run on their own, sorted by file name."""
    notes = [noted(path) for path in store.named("cpython-*.tar.gz")]
    return tuple(note for note in notes if note is not None)


def noted(archive: Path) -> PackedPython | None:
    """Return what is noted beside an archive; None if nothing is, or it cannot be read."""
    try:
        return structure.load(PackedPython, read_json(archive.parent / NOTE))
    except (OSError, ValueError):
        return None
