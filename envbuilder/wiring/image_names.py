"""Names of images: which one a lock gives to its image, and which image a name on the command line means."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from envbuilder.core.errors import EngineUnavailable, UsageError
from envbuilder.core.references import ImageRef, image_name, repository_of
from envbuilder.wiring.adapters import Composition
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


def reference_of(composition: Composition, name: str, engine: str) -> str:
    """Return the image that a name means: that of an environment, one that was built under it, or the name itself.

    Args:
        composition: Adapters.
        name: An environment, `name:` of a spec, or a reference.
        engine: `docker`, `assemble` or `auto`: where to look.

    Raises:
        UsageError: It is no reference.
    """
    try:
        built = f"{repository_of(image_name(name))}:latest"
    except ValueError:
        return checked_reference(name)
    if any(row.id == name for row in composition.catalog.environments):
        return built
    if engine != "docker" and composition.records.image(built) is not None:
        return built
    return built if engine != "assemble" and _is_in_engine(composition, built) else name


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


def _is_in_engine(composition: Composition, image: str) -> bool:
    try:
        return composition.engine.image(image) is not None
    except EngineUnavailable:
        return False
