"""Interpreter archives of the cache, with a stored description so that each is read only once."""

from __future__ import annotations

from pathlib import Path

from envbuilder.catalog.buildable import PackedPython
from envbuilder.core.canonical_json import canonical_json
from envbuilder.core.errors import InvalidInput
from envbuilder.core.files import replacing
from envbuilder.core.json_input import load_object
from envbuilder.core.versions import Release
from envbuilder.image.base.file_store import FileStore
from envbuilder.image.base.python_survey import inspect

_NOTE = ".interpreter.json"
"""The result of `inspect` beside an archive, since it takes a second. The directory is named by the sha256."""


def packed_pythons(store: FileStore) -> tuple[PackedPython, ...]:
    """Return the interpreters of the archives in a store that run on their own, sorted by file name.

    Archives that cannot be read are left out.
    """
    notes = [_noted(path) or _surveyed(path) for path in store.named("cpython-*.tar.gz")]
    return tuple(note for note in notes if note is not None)


def _noted(archive: Path) -> PackedPython | None:
    try:
        document = load_object((archive.parent / _NOTE).read_bytes())
        version, glibc = document["version"], document["glibc"]
        if not isinstance(version, str) or not isinstance(glibc, str):
            return None
        return PackedPython(version=Release(version), glibc=Release(glibc))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _surveyed(archive: Path) -> PackedPython | None:
    try:
        found = inspect(archive)
    except InvalidInput:
        return None
    if found.library_dirs:
        return None
    try:
        with replacing(archive.parent / _NOTE) as stream:
            note = {"version": str(found.version), "glibc": str(found.glibc)}
            stream.write(canonical_json(note))
    except OSError:
        pass  # If the cache cannot be written to, the archives are read again each time.
    return PackedPython(version=found.version, glibc=found.glibc)
