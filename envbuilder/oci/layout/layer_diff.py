"""Differences between two layers, path by path."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from envbuilder.core.archives.tar_reader import TarEntry, TarReader
from envbuilder.oci.layout.layer_compression import unpacked
from envbuilder.oci.tar.members import Kind

_NUMBERS = ("mode", "uid", "gid", "mtime", "size")


def compare_layers(expected: Path, found: Path) -> Iterator[tuple[str, str]]:
    """Yield the paths that differ between two layers, sorted, each with the difference.

    Raises:
        VerificationFailed: One of them cannot be read.
    """
    wanted, there = _marks(expected), _marks(found)
    for path in sorted(wanted.keys() | there.keys()):
        if path not in there:
            yield path, "is missing"
        elif path not in wanted:
            yield path, "is not expected"
        elif difference := _difference(wanted[path], there[path]):
            yield path, difference


def _marks(blob: Path) -> dict[str, tuple[TarEntry, str]]:
    """Return each member of a layer with the digest of its content, by path."""
    found = {}
    with unpacked(blob) as stream:
        tar = TarReader(stream, blob.name)
        for entry in tar.entries():
            digest = hashlib.sha256()
            for piece in tar.content():
                digest.update(piece)
            found[entry.path] = (entry, digest.hexdigest())
    return found


def _difference(expected: tuple[TarEntry, str], found: tuple[TarEntry, str]) -> str:
    """Return the difference between two members; empty if there is none."""
    (wanted, content), (there, other_content) = expected, found
    if _kind(wanted) != _kind(there):
        return f"is a {_kind(there)} instead of a {_kind(wanted)}"
    if _target(wanted) != _target(there):
        return f"points to {_target(there)} instead of {_target(wanted)}"
    if content != other_content:
        return "has another content"
    changed = [name for name in _NUMBERS if getattr(wanted, name) != getattr(there, name)]
    return ", ".join(f"{name} {getattr(there, name)} instead of {getattr(wanted, name)}" for name in changed)


def _kind(entry: TarEntry) -> str:
    return "link" if entry.link_to else Kind(entry.flag).name.lower()


def _target(entry: TarEntry) -> str:
    return entry.link_to or entry.target
