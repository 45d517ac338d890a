"""Manifests of directory trees in the cache, which detect changes after unpacking.

A manifest is beside its tree, never in it. Its first line has the digest of the metadata of every entry (mode, owner,
size, times, inode), which is compared at each use, and the digest of the list that follows: path, mode, owner, size,
and sha256 or target of every entry. The list is compared if the metadata differ, as after a copy to another disk, and
by `envbuilder cache verify`.

Metadata suffice at each use because only root can set the time of the last change of an inode (ctime):
https://man7.org/linux/man-pages/man7/inode.7.html
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from typing import TypeAlias

from envbuilder.core.files import CHUNK, open_regular, replacing

_SCHEMA = "envbuilder-manifest-1"
_HEAD = 512
_THREADS = 4
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_Entry: TypeAlias = tuple[str, int, int, int, int, str]
"""Path, mode, owner, group, size (0 except for files), and sha256, target, or first name of the same file."""


class State(Enum):
    """Result of the comparison of a tree with its manifest: same, same with other metadata, changed, or no manifest."""

    SAME = auto()
    COPIED = auto()
    CHANGED = auto()
    UNKNOWN = auto()


def manifest_of(tree: Path) -> Path:
    """Return the path of the manifest of a tree, which need not exist."""
    return tree.with_name(f".{tree.name}.manifest")


def write_manifest(tree: Path) -> None:
    """Write the manifest of a complete tree.

    Raises:
        OSError: A file cannot be read.
    """
    # A change after this line is detected at the next use.
    metadata = _metadata(tree)
    _write(tree, metadata, _body(tree))


def holds(tree: Path) -> bool:
    """Return True if a tree is unchanged since it was unpacked.

    Files are read only if the metadata of an entry differ. If their content is unchanged, the manifest is rewritten
    with the new metadata.
    """
    return compare(tree) in {State.SAME, State.COPIED}


def compare(tree: Path, *, fully: bool = False) -> State:
    """Compare a tree with its manifest; read all files, regardless of their metadata, if `fully` is set."""
    try:
        with open_regular(manifest_of(tree)) as stream:
            schema, recorded, digest = stream.readline(_HEAD).decode("ascii").split()
            metadata = _metadata(tree)
            if not fully and (schema, recorded) == (_SCHEMA, metadata):
                return State.SAME
            body = stream.read()
        if schema != _SCHEMA or hashlib.sha256(body).hexdigest() != digest:
            return State.UNKNOWN
        if _body(tree) != body:
            return State.CHANGED
    except (OSError, ValueError):
        return State.UNKNOWN
    if recorded == metadata:
        return State.SAME
    with suppress(PermissionError):
        _write(tree, metadata, body)
    return State.COPIED


def differences(tree: Path) -> list[str]:
    """Return the paths of a tree that differ from its manifest, sorted.

    Raises:
        OSError: The tree or its manifest cannot be read.
        ValueError: The manifest is damaged.
    """
    with open_regular(manifest_of(tree)) as stream:
        stream.readline(_HEAD)
        recorded = {path: rest for path, *rest in json.loads(stream.read())}
    found = {path: rest for path, *rest in _entries(tree)}
    return sorted(path for path in recorded.keys() | found.keys() if recorded.get(path) != found.get(path))


def _write(tree: Path, metadata: str, body: bytes) -> None:
    with replacing(manifest_of(tree)) as stream:
        stream.write(f"{_SCHEMA} {metadata} {hashlib.sha256(body).hexdigest()}\n".encode())
        stream.write(body)


def _metadata(tree: Path) -> str:
    """Return the digest of the metadata of a tree.

    The times of the root are left out, since renaming a directory changes them.
    """
    digest = hashlib.sha256()
    for path, status in _walk(tree):
        owner = f"{path}\0{status.st_mode} {status.st_uid} {status.st_gid}"
        more = (
            f" {status.st_size} {status.st_ino} {status.st_nlink} {status.st_mtime_ns} {status.st_ctime_ns}"
            if path
            else ""
        )
        digest.update(f"{owner}{more}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _body(tree: Path) -> bytes:
    return json.dumps(_entries(tree), separators=(",", ":")).encode()


def _entries(tree: Path) -> list[_Entry]:
    found = list(_walk(tree))
    first: dict[int, str] = {}
    files: dict[str, int] = {}
    contents: dict[str, str] = {}
    for path, status in found:
        if stat.S_ISLNK(status.st_mode):
            contents[path] = os.readlink(tree / path)  # noqa: PTH115  a Path would change the text of the link
        elif stat.S_ISREG(status.st_mode) and first.setdefault(status.st_ino, path) == path:
            files[path] = status.st_size
        elif stat.S_ISREG(status.st_mode):
            contents[path] = f"is {first[status.st_ino]}"
    names = list(files)
    with ThreadPoolExecutor(_THREADS) as pool:
        for part in pool.map(lambda start: _digests(tree, names[start::_THREADS]), range(_THREADS)):
            contents.update(part)
    return [
        (path, status.st_mode, status.st_uid, status.st_gid, files.get(path, 0), contents.get(path, ""))
        for path, status in found
    ]


def _digests(tree: Path, paths: list[str]) -> dict[str, str]:
    return {path: _digest(f"{tree}/{path}") for path in paths}


def _digest(path: str) -> str:
    digest = hashlib.sha256()
    handle = os.open(path, _FILE)
    try:
        while piece := os.read(handle, CHUNK):
            digest.update(piece)
    finally:
        os.close(handle)
    return digest.hexdigest()


def _walk(tree: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the root as an empty path, then every entry below it, in an order that depends on the names only."""
    status = tree.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(f"{tree} is not a directory")
    yield "", status
    pending = [""]
    while pending:
        prefix = pending.pop()
        with os.scandir(f"{tree}/{prefix}") as found:
            entries = sorted(found, key=lambda entry: entry.name)
        for entry in entries:
            path = prefix + entry.name
            status = entry.stat(follow_symlinks=False)
            yield path, status
            if stat.S_ISDIR(status.st_mode):
                pending.append(f"{path}/")
