"""Packages that ship with the environments of all catalogs."""

from __future__ import annotations

from envbuilder.catalog.environments import Catalog
from envbuilder.lock.resolve.shipped_closures import ClosureFolder
from envbuilder.wiring.settings import Settings


def closures(settings: Settings, catalog: Catalog) -> ClosureFolder:
    """Return the packages that ship with the environments, those of the catalogs of teams first."""
    own = tuple(team.place.folder / "locks" for team in reversed(catalog.teams))
    return ClosureFolder(folder=settings.matrices / "locks", preferred=own)
