"""Formats that a lock is exported to."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import assert_never

from envbuilder.catalog.profiles import Profile
from envbuilder.core.references import ImageRef
from envbuilder.image.export.containers import compose, devcontainer
from envbuilder.image.export.packages import conda, pylock, requirements_file
from envbuilder.lock.lock import Lock


class ExportFormat(StrEnum):
    """A file of another tool."""

    COMPOSE = "compose"
    CONDA = "conda"
    DEVCONTAINER = "devcontainer"
    PYLOCK = "pylock"
    REQUIREMENTS = "requirements"


def exported(lock: Lock, form: ExportFormat, image: ImageRef, packages: str, profiles: Sequence[Profile]) -> str:
    """Return a lock as the text of a file of another tool.

    Args:
        lock: The lock.
        form: What to write.
        image: Image of the lock, for the formats that start containers.
        packages: Directory with the Python packages of the lock, relative to the file; for `pylock`.
        profiles: Profiles of the catalog, for `devcontainer`.

    Raises:
        UsageError: The format cannot express something that the lock has.
    """
    match form:
        case ExportFormat.COMPOSE:
            return compose(lock, image)
        case ExportFormat.CONDA:
            return conda(lock)
        case ExportFormat.DEVCONTAINER:
            return devcontainer(lock, image, profiles)
        case ExportFormat.PYLOCK:
            return pylock(lock, packages)
        case ExportFormat.REQUIREMENTS:
            return requirements_file(lock)
        case _:
            assert_never(form)
