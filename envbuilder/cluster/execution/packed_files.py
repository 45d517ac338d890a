"""Text files of a directory as one compressed value that can be sent to a worker."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path

from envbuilder.core.canonical_json import canonical_json
from envbuilder.core.json_input import LARGEST, load_object


def pack_files(files: Mapping[str, str]) -> bytes:
    """Return files, content by relative path, as one value; equal files give equal bytes."""
    return zlib.compress(canonical_json(dict(files)))


def unpack_files(packed: bytes) -> dict[str, str]:
    """Return the files of a packed value.

    Raises:
        ValueError: It is not one.
    """
    reader = zlib.decompressobj()
    try:
        content = reader.decompress(packed, LARGEST)
    except zlib.error as error:
        raise ValueError("not packed files") from error
    return {path: str(text) for path, text in load_object(content).items()}


def read_files(folder: Path) -> dict[str, str]:
    """Return the text of every regular file below a directory, by relative path; sorted."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and not path.name.startswith(".")
    }


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write files below an empty directory.

    Raises:
        ValueError: A path leads out of the directory.
    """
    for name, text in files.items():
        path = folder / name
        if not path.is_relative_to(folder) or ".." in path.parts:
            raise ValueError(f"not a relative path: {name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def changed_files(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str | None]:
    """Return the content of files that were added or changed, and None for those that were removed; sorted by path.

    Example:
        >>> changed_files({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "4", "d": "5"})
        {'b': '4', 'c': None, 'd': '5'}
    """
    return {path: after.get(path) for path in sorted({*before, *after}) if before.get(path) != after.get(path)}
