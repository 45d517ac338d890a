"""Interpreter archives of the cache, without reading them."""

from __future__ import annotations

from pathlib import Path

from envbuilder.catalog.buildable import PackedPython
from envbuilder.core.json_input import load_object
from envbuilder.core.versions import Release
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
        document = load_object((archive.parent / NOTE).read_bytes())
        version, glibc = document["version"], document["glibc"]
        if not isinstance(version, str) or not isinstance(glibc, str):
            return None
        return PackedPython(version=Release(version), glibc=Release(glibc))
    except (OSError, ValueError, KeyError, TypeError):
        return None
