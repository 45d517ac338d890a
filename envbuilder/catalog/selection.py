"""From what people type to rows: ids, releases that stand for one, globs, and the nearest when there is none."""

from __future__ import annotations

import difflib
import fnmatch

from packaging.version import Version

from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.core.errors import UnknownEnvironment, UsageError


def find(catalog: Catalog, name: str) -> Environment:
    """The row with this id.

    Raises:
        UnknownEnvironment: There is none; carries the nearest ids.
    """
    for row in catalog.environments:
        if row.id == name:
            return row
    raise UnknownEnvironment(name, nearest(catalog, name))


def meant(catalog: Catalog, name: str) -> Environment | None:
    """Return the row that a name on a command line means: its id, or `tf-2.15` for the GPU row of a release.

    A spec names a row by its id: with a new row, the short name of a release could mean another one.

    Returns:
        None when no row begins so.

    Raises:
        UsageError: The release has no GPU row, or several.
    """
    row = next((row for row in catalog.environments if row.id == name), None)
    if row is not None:
        return row
    rows = [row for row in catalog.environments if row.id.rpartition("-")[0] == name]
    with_gpu = [row for row in rows if row.cuda]
    if rows and len(with_gpu) != 1:
        raise UsageError(
            f"{name} does not stand for one environment: it has {len(with_gpu)} with GPU support",
            hint=f"name one of {', '.join(row.id for row in rows)}",
        )
    return with_gpu[0] if rows else None


def named(catalog: Catalog, name: str) -> Environment:
    """Return the row that a name on a command line means, as `meant`.

    Raises:
        UnknownEnvironment: There is none; carries the nearest ids.
        UsageError: The release has no GPU row, or several.
    """
    row = meant(catalog, name)
    if row is None:
        raise UnknownEnvironment(name, nearest(catalog, name))
    return row


def select(catalog: Catalog, name: str, version: Version | None) -> Environment:
    """The row with this id, with another patch release of TensorFlow when one is asked for.

    Args:
        catalog: The rows.
        name: Id of the row.
        version: Patch release; None means the row's.

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
    """The rows whose id matches a shell pattern, in catalog order; or the one that a name means, as `named`.

    Raises:
        UnknownEnvironment: None matches.
    """
    rows = tuple(row for row in catalog.environments if fnmatch.fnmatchcase(row.id, pattern))
    return rows or (named(catalog, pattern),)


def nearest(catalog: Catalog, name: str) -> tuple[str, ...]:
    """At most three ids that look like a name, best first: those that it begins, else those that are spelt alike."""
    ids = [row.id for row in catalog.environments]
    begun = [known for known in ids if known.startswith(name.lower())]
    return tuple((begun or difflib.get_close_matches(name.lower(), ids, n=3, cutoff=0.5))[:3])
