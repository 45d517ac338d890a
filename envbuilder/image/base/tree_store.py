"""Debian trees, kept in the cache directory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from envbuilder.core.canonical_json import indented_json
from envbuilder.core.digests import is_digest
from envbuilder.core.file_locks import locked
from envbuilder.core.files import open_regular, read_json, replacing
from envbuilder.image.base.trees import DebianTree
from envbuilder.lock.lock import OsPackagePin
from envbuilder.oci.store import require_digest

T = TypeVar("T")
_CURRENT = "current"
_DIGEST = 100
"""Bytes of `current` that are read: a digest has 71."""


@dataclass(frozen=True, slots=True)
class DebianStore:
    """Trees as `<id>/<first 12 digits of the digest>.tar`, each with a `.json` beside it.

    Several processes may use one store: a tree exists when its `.json` exists, which is written last, and writers
    of one base wait for each other.

    Attributes:
        folder: Need not exist yet.
    """

    folder: Path

    def current(self, base: str) -> DebianTree | None:
        """Return the tree of a base that was last made the current one; its content is not read.

        Returns:
            None if there is none, its description is damaged, or it may contain set-user-ID programs.
        """
        pointer = self._place(base) / _CURRENT
        try:
            with open_regular(pointer) as stream:
                digest = stream.read(_DIGEST).decode("ascii").strip()
        except (OSError, UnicodeDecodeError):
            return None
        tree = self._read(base, digest) if is_digest(digest) else None
        return tree if tree and tree.cleared is not None else None

    def all(self) -> Iterator[DebianTree]:
        """Yield all trees with a readable description, sorted by path; their content is not read."""
        for path in sorted(self.folder.glob("[!.]*/*.json")):
            tree = _described(path.with_suffix(".tar"), path.parent.name)
            if tree:
                yield tree

    def get(self, base: str, digest: str) -> DebianTree | None:
        """Return the tree of a base with this digest, after reading all of it; None if it is not in the store.

        Raises:
            VerificationFailed: The file is not what its description says; it is gone then.
        """
        tree = self._read(base, digest)
        if tree:
            require_digest(tree.path, digest)
        return tree

    def put(self, tree: DebianTree, *, current: bool = True) -> DebianTree:
        """Add a tree to the store; its tar is moved, not copied.

        Args:
            tree: The tree.
            current: Make it the current one of its base.

        Returns:
            The tree with its new path.
        """
        place = self._place(tree.id)
        place.mkdir(parents=True, exist_ok=True)
        kept = replace(tree, path=place / f"{_short(tree.digest)}.tar")
        # The lock is released also when this process is killed.
        with locked(place / "lock"):
            _move(tree.path, kept.path)
            with replacing(_manifest_of(kept.path)) as stream:
                stream.write(_dump(kept))
            if current:
                with replacing(place / _CURRENT) as stream:
                    stream.write(f"{tree.digest}\n".encode())
        return kept

    def _place(self, base: str) -> Path:
        if Path(base).name != base:
            raise ValueError(f"{base!r} is not an id")
        return self.folder / base

    def _read(self, base: str, digest: str) -> DebianTree | None:
        tree = _described(self._place(base) / f"{_short(digest)}.tar", base)
        return tree if tree and tree.digest == digest else None


def _described(path: Path, base: str) -> DebianTree | None:
    """Return the tree in a file; None if its size or name does not match its description."""
    try:
        tree = _load(read_json(_manifest_of(path)), path)
        size = path.stat().st_size
    except (OSError, ValueError, KeyError, TypeError):
        # The cache may be damaged: a tree that cannot be read is made again.
        return None
    return tree if (tree.id, tree.size) == (base, size) and path.stem == _short(tree.digest) else None


def _short(digest: str) -> str:
    return digest.removeprefix("sha256:")[:12]


def _manifest_of(tar: Path) -> Path:
    return tar.with_suffix(".json")


def _move(source: Path, target: Path) -> None:
    if source == target:
        return
    if source.stat().st_dev == target.parent.stat().st_dev:
        source.replace(target)
    else:
        with replacing(target) as stream, source.open("rb") as content:
            shutil.copyfileobj(content, stream)
        source.unlink()
    _flush_folder(target.parent)


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _dump(tree: DebianTree) -> bytes:
    document = {
        "schema": 1,
        "id": tree.id,
        "digest": tree.digest,
        "size": tree.size,
        "suite": tree.suite,
        "packages": [
            [package.name, package.version, package.sha256, package.file, package.size] for package in tree.packages
        ],
        "missing": list(tree.missing),
        "cleared": None if tree.cleared is None else list(tree.cleared),
    }
    return indented_json(document)


def _load(document: object, path: Path) -> DebianTree:
    """Return the content of a description.

    Raises:
        ValueError, KeyError, TypeError: It is not a description.
    """
    if not isinstance(document, dict) or document["schema"] != 1 or not is_digest(document["digest"]):
        raise ValueError(f"{path} has no description")
    texts = {name: _typed(document[name], str) for name in ("id", "digest", "suite")}
    return DebianTree(
        **texts,
        path=path,
        size=_typed(document["size"], int),
        packages=tuple(_package(*each) for each in document["packages"]),
        missing=tuple(_typed(each, str) for each in document.get("missing", [])),
        cleared=_cleared(document.get("cleared")),
    )


def _cleared(found: object) -> tuple[str, ...] | None:
    return None if found is None else tuple(_typed(each, str) for each in _typed(found, list))


def _package(name: str, version: str, sha256: str = "", file: str = "", size: int = 0) -> OsPackagePin:
    """Return one package; trees of older versions have name and version only."""
    name, version, sha256, file = (_typed(each, str) for each in (name, version, sha256, file))
    return OsPackagePin(name=name, version=version, sha256=sha256, file=file, size=_typed(size, int))


def _typed(value: object, kind: type[T]) -> T:
    if type(value) is not kind:
        raise TypeError(f"{value!r} is not of type {kind.__name__}")
    return value
