"""Catalogs of teams in the output of `list` and `show`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envbuilder.catalog.environments import Catalog, Environment


def catalog_document(catalog: Catalog, row: Environment) -> dict[str, object] | None:
    """Return the catalog of a team that has an environment; None for that of envbuilder."""
    team = catalog.origin(row.id)
    if team is None:
        return None
    place = team.place
    where = {"address": place.address or None, "commit": place.commit or None}
    return {"name": team.name, "directory": str(place.folder), **where, "digest": team.digest}


def catalog_notes(catalog: Catalog, rows: Iterable[Environment]) -> Iterator[str]:
    """Yield an empty line, and one for each catalog of a team with environments that are shown."""
    shown = [row.id for row in rows]
    used = {
        team.name: own for team in catalog.teams if (own := [name for name in shown if catalog.origin(name) is team])
    }
    if used:
        yield ""
    for team in catalog.teams:
        if team.name in used:
            yield f"From the catalog {team}: {', '.join(used[team.name])}"
