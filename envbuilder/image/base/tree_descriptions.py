"""Descriptions of the trees in the cache directory: which one of a base is current, and if its file is whole."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar

from envbuilder.core import structure
from envbuilder.core.digests import is_digest, shortened
from envbuilder.core.field_types import Digest, FileSize, exactly
from envbuilder.core.files import open_regular, read_json

SCHEMA = 1
CURRENT = "current"
_DIGEST = 100
"""Bytes of `current` that are read: a digest has 71."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeDescription:
    """What stands beside a tree, without its packages; attributes as in `DebTree`."""

    schema: Annotated[int, exactly(SCHEMA)]
    id: str
    digest: Digest
    size: FileSize
    suite: str
    missing: tuple[str, ...] = ()
    cleared: tuple[str, ...] | None = None


T = TypeVar("T", bound=TreeDescription)


def current(form: type[T], folder: Path) -> T | None:
    """Return the description of the tree of a base that was last made the current one; its content is not read.

    Args:
        form: What to read of the description.
        folder: Directory of the trees of the base, which has its id as name.

    Returns:
        None if there is none, its description is damaged, or it may contain set-user-ID programs.
    """
    try:
        with open_regular(folder / CURRENT) as stream:
            digest = stream.read(_DIGEST).decode("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    description = with_digest(form, folder, digest) if is_digest(digest) else None
    return description if description and description.cleared is not None else None


def with_digest(form: type[T], folder: Path, digest: str) -> T | None:
    """Return the description of the tree of a base that has a digest; None if it is not there, or damaged."""
    description = described(form, tar_of(folder, digest))
    return description if description and description.digest == digest else None


def described(form: type[T], tar: Path) -> T | None:
    """Return the description of the tree in a file; None if the size or the name of the file does not match it."""
    try:
        description = structure.load(form, read_json(manifest_of(tar)))
        size = tar.stat().st_size
    except (OSError, ValueError):
        # The cache may be damaged: a tree that cannot be read is made again.
        return None
    return (
        description
        if (description.id, description.size, shortened(description.digest)) == (tar.parent.name, size, tar.stem)
        else None
    )


def tar_of(folder: Path, digest: str) -> Path:
    """Return the path of a tree in the directory of its base."""
    return folder / f"{shortened(digest)}.tar"


def manifest_of(tar: Path) -> Path:
    """Return the path of the description of a tree."""
    return tar.with_suffix(".json")
