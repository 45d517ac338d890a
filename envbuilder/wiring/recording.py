"""Write access to the catalog directory."""

from __future__ import annotations

from envbuilder.catalog.references import TeamCatalog
from envbuilder.core.errors import UsageError
from envbuilder.curation.proof.catalog_files import CatalogFiles
from envbuilder.wiring.settings import Settings


def records_of(settings: Settings, team: TeamCatalog | None = None) -> CatalogFiles:
    """Return the storage of evidence: a checkout, or the directory that the user named.

    It is in the catalog of the team; None for that of envbuilder.

    Raises:
        UsageError: The catalog is that of the installed package, a commit of a repository, or read-only.
    """
    if team and team.place.commit:
        raise UsageError(
            f"the catalog {team} is read-only: results could not be recorded",
            hint="name the directory of a checkout: `export ENVBUILDER_CATALOGS=DIR`",
        )
    if settings.packaged and not team:
        raise UsageError(
            f"the catalog of the installed package, {settings.matrices}, is read-only",
            hint=f"`cp -r {settings.matrices} matrices`, then `export ENVBUILDER_MATRICES=matrices`",
        )
    records = CatalogFiles(matrices=team.place.folder if team else settings.matrices)
    records.refuse_unwritable()
    return records
