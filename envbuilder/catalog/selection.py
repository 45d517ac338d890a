"""Selection of rows by id, release or glob, with the nearest ids if none matches."""

from __future__ import annotations

import difflib
import fnmatch

from packaging.version import Version

from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.core.errors import UnknownEnvironment, UsageError


def find(catalog: Catalog, name: str) -> Environment:
    """Return the row with this id.

    Raises:
        UnknownEnvironment: There is no such row; carries the nearest ids.
    """
    row = catalog.environment(name)
    if row is None:
        raise UnknownEnvironment(name, _nearest(catalog, name))
    return row


def meant(catalog: Catalog, name: str) -> Environment | None:
    """Return the row for a name on a command line: its id, or `tf-2.15` for the GPU row of a release.

    Specs accept ids only: after a new row is added, the short name of a release could stand for another row.

    Returns:
        None if no id begins with the name.

    Raises:
        UsageError: The release has no GPU row, or several.
    """
    row = catalog.environment(name)
    if row is not None:
        return row
    rows = [row for row in catalog.environments if row.id.rpartition("-")[0] == name]
    with_gpu = [row for row in rows if row.cuda]
    if rows and len(with_gpu) != 1:
        raise UsageError(
            f"{name} is ambiguous: it has {len(with_gpu)} with GPU support",
            hint=f"specify one of {', '.join(row.id for row in rows)}",
        )
    return with_gpu[0] if rows else None


def named(catalog: Catalog, name: str) -> Environment:
    """Return the row for a name on a command line, as `meant`.

    Raises:
        UnknownEnvironment: There is no such row; carries the nearest ids.
        UsageError: The release has no GPU row, or several.
    """
    row = meant(catalog, name)
    if row is None:
        raise UnknownEnvironment(name, _nearest(catalog, name))
    return row


def select(catalog: Catalog, name: str, version: Version | None) -> Environment:
    """Return the row with this id, with another patch release of TensorFlow if one is requested.

    Raises:
        UnknownEnvironment: There is no such row.
        UsageError: The row does not have that release.
    """
    row = find(catalog, name)
    selected = row.release(version) if version else row
    if selected is None:
        known = ", ".join(sorted({str(row.framework.version), *(str(other.version) for other in row.framework.others)}))
        raise UsageError(f"{row.id} does not have TensorFlow {version}", hint=f"it has {known}")
    return selected


def matching(catalog: Catalog, pattern: str) -> tuple[Environment, ...]:
    """Return the rows whose id matches a shell pattern, in catalog order; or the row for a name, as `named`.

    Raises:
        UnknownEnvironment: No row matches.
    """
    rows = tuple(row for row in catalog.environments if fnmatch.fnmatchcase(row.id, pattern))
    return rows or (named(catalog, pattern),)


def _nearest(catalog: Catalog, name: str) -> tuple[str, ...]:
    """Return at most three similar ids, best first: those that begin with the name, else those of similar spelling."""
    ids = [row.id for row in catalog.environments]
    begun = [known for known in ids if known.startswith(name.lower())]
    return tuple((begun or difflib.get_close_matches(name.lower(), ids, n=3, cutoff=0.5))[:3])
