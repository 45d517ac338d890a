"""Trees of .deb packages, kept in the cache directory.

A tree keeps its base in its path and can be read without envbuilder, since the mirror that it came from may be gone.
Unlike the content of `Store`, it is removed by `cache prune --all` only. Verification is that of `Store`.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from envbuilder.core import structure
from envbuilder.core.canonical_json import indented_json
from envbuilder.core.digests import verified
from envbuilder.core.field_rules import Parsed
from envbuilder.core.file_locks import locked
from envbuilder.core.files import replacing
from envbuilder.image.base import tree_descriptions
from envbuilder.image.base.tree_descriptions import CURRENT, SCHEMA, TreeDescription, described, manifest_of, tar_of
from envbuilder.lock.lock import OsPackagePin

_PACKAGE = ("name", "version", "sha256", "file", "size")


@dataclass(frozen=True, slots=True, kw_only=True)
class DebTree:
    """A root file system unpacked from .debs, without anything that belongs to one machine.

    Attributes:
        id: Id of the base system in the catalog.
        path: The uncompressed tar.
        digest: `sha256:…` of the tar, which is the diff id of the only layer made from it.
        size: Bytes of the tar.
        suite: Debian suite.
        packages: Everything installed, sorted by name; the sha256 of each is empty because the files are inside.
        missing: Suites of updates that the archive did not have.
        cleared: Programs whose set-user-ID and set-group-ID bits were cleared, as relative paths, sorted; None for a
            tree where this is unknown, such as one from before this rule.
    """

    id: str
    path: Path
    digest: str
    size: int
    suite: str
    packages: tuple[OsPackagePin, ...]
    missing: tuple[str, ...] = ()
    cleared: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class TreeStore:
    """Trees as `<id>/<first 12 digits of the digest>.tar`, each with a `.json` beside it.

    Several processes may use one store: a tree exists when its `.json` exists, which is written last, and writers
    of one base wait for each other.

    Attributes:
        folder: Need not exist yet.
        trusted: As in `Store`.
    """

    folder: Path
    trusted: set[Path] = field(default_factory=set)

    def current(self, base: str) -> DebTree | None:
        """Return the tree of a base that was last made the current one, as `tree_descriptions.current`."""
        place = self._place(base)
        description = tree_descriptions.current(_Description, place)
        return _tree(description, place) if description else None

    def all(self) -> Iterator[DebTree]:
        """Yield all trees with a readable description, sorted by path; their content is not read."""
        for path in sorted(self.folder.glob("[!.]*/*.json")):
            description = described(_Description, path.with_suffix(".tar"))
            if description:
                yield _tree(description, path.parent)

    def get(self, base: str, digest: str) -> DebTree | None:
        """Return the tree of a base with this digest, verified; None if it is not in the store.

        Raises:
            VerificationFailed: The file is not what its description says; it is gone then.
        """
        place = self._place(base)
        description = tree_descriptions.with_digest(_Description, place, digest)
        if description is None:
            return None
        tree = _tree(description, place)
        verified(tree.path, digest, self.trusted)
        return tree

    def put(self, tree: DebTree, *, current: bool = True) -> DebTree:
        """Add a tree, by default as the current one of its base; its tar is moved. Return it with its new path."""
        place = self._place(tree.id)
        place.mkdir(parents=True, exist_ok=True)
        kept = replace(tree, path=tar_of(place, tree.digest))
        # The lock is released also when this process is killed.
        with locked(place / "lock"):
            shutil.move(tree.path, kept.path)
            with replacing(manifest_of(kept.path)) as stream:
                stream.write(_description(kept))
            if current:
                with replacing(place / CURRENT) as stream:
                    stream.write(f"{tree.digest}\n".encode())
        return kept

    def _place(self, base: str) -> Path:
        if Path(base).name != base:
            raise ValueError(f"{base!r} is not an id")
        return self.folder / base


def _tree(description: _Description, place: Path) -> DebTree:
    return DebTree(
        id=description.id,
        path=tar_of(place, description.digest),
        digest=description.digest,
        size=description.size,
        suite=description.suite,
        packages=description.packages,
        missing=description.missing,
        cleared=description.cleared,
    )


def _description(tree: DebTree) -> bytes:
    description = _Description(
        schema=SCHEMA,
        id=tree.id,
        digest=tree.digest,
        size=tree.size,
        suite=tree.suite,
        packages=tree.packages,
        missing=tree.missing,
        cleared=tree.cleared,
    )
    return indented_json(structure.dump(description))


def _package(values: object) -> OsPackagePin:
    """Return one package; trees of older versions have its name and version only."""
    texts_and_size = structure.load(tuple[object, ...], values)
    plain = {name: value for name, value in zip(_PACKAGE, texts_and_size, strict=False) if value not in ("", 0)}
    return structure.load(OsPackagePin, {"version": ""} | plain)


def _values(package: OsPackagePin) -> list[object]:
    return [getattr(package, name) for name in _PACKAGE]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Description(TreeDescription):
    packages: tuple[Annotated[OsPackagePin, Parsed(_package, of=object, write=_values)], ...]
