"""Write access to the catalog directory."""

from __future__ import annotations

from envbuilder.core.errors import UsageError
from envbuilder.curation.proof.catalog_files import CatalogFiles
from envbuilder.wiring.settings import Settings


def records_of(settings: Settings) -> CatalogFiles:
    """Return the storage of evidence: a checkout, or the directory that the user named.

    Raises:
        UsageError: The catalog is that of the installed package, or read-only.
    """
    if settings.packaged:
        raise UsageError(
            f"the catalog of the installed package, {settings.matrices}, is read-only",
            hint=f"`cp -r {settings.matrices} matrices`, then `export ENVBUILDER_MATRICES=matrices`",
        )
    records = CatalogFiles(matrices=settings.matrices)
    records.refuse_unwritable()
    return records
