"""Names of images: which one a lock gives to its image, and which texts are references."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from envbuilder.core.errors import UsageError
from envbuilder.core.references import ImageRef, image_name
from envbuilder.wiring.targets import LOCK

REFERENCE = "write [HOST[:PORT]/]NAME[:TAG][@sha256:DIGEST], the name in lower case"
_MOST_CHARACTERS = 100


def default_name(path: Path, environment: str, rows: Collection[str]) -> str:
    """Return the name of an image whose lock names none: the directory of an `envbuilder.lock`, else the file's stem.

    Args:
        path: The lock.
        environment: The environment of the lock.
        rows: Names that belong to environments of the catalog: a lock of a team never takes one.
    """
    given = path.resolve().parent.name if path.name == LOCK.name else path.stem
    words = re.sub(r"[^a-z0-9]+", "-", given.lower())[:_MOST_CHARACTERS].strip("-") or environment
    try:
        return image_name(f"own-{words}" if words in rows else words)
    except ValueError:
        return f"own-{words}"


def checked_reference(name: str) -> str:
    """Return an image reference as it was written.

    Raises:
        UsageError: It is none; no engine and no registry is asked for it.
    """
    try:
        ImageRef.parse(name)
    except ValueError as error:
        raise UsageError(str(error), hint=REFERENCE) from error
    return name
