"""From what people type to rows: exact ids, globs, and the nearest when there is none."""

from __future__ import annotations

import difflib
import fnmatch

from envbuilder.errors import UnknownEnvironment
from envbuilder.model.rows import Catalog, Environment


def find(catalog: Catalog, name: str) -> Environment:
    """The row with this id.

    Raises:
        UnknownEnvironment: There is none; carries the nearest ids.
    """
    for row in catalog.environments:
        if row.id == name:
            return row
    raise UnknownEnvironment(name, nearest(catalog, name))


def matching(catalog: Catalog, pattern: str) -> tuple[Environment, ...]:
    """The rows whose id matches a shell pattern, in catalog order.

    Raises:
        UnknownEnvironment: None matches.
    """
    rows = tuple(row for row in catalog.environments if fnmatch.fnmatchcase(row.id, pattern))
    if not rows:
        raise UnknownEnvironment(pattern, nearest(catalog, pattern))
    return rows


def nearest(catalog: Catalog, name: str) -> tuple[str, ...]:
    """At most three ids that look like a name, best first: those that it begins, else those that are spelt alike."""
    ids = [row.id for row in catalog.environments]
    begun = [known for known in ids if known.startswith(name.lower())]
    return tuple((begun or difflib.get_close_matches(name.lower(), ids, n=3, cutoff=0.5))[:3])
