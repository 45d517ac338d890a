"""Write access to the catalog directory."""

from __future__ import annotations

from envbuilder.core.errors import UsageError
from envbuilder.curation.proof.records import Records
from envbuilder.wiring.settings import Settings


def records_of(settings: Settings) -> Records:
    """Return the records of evidence in the catalog directory.

    Raises:
        UsageError: The catalog is that of the installed package, or read-only.
    """
    if settings.packaged:
        raise UsageError(
            f"the catalog of the installed package, {settings.matrices}, is not written to",
            hint=f"copy it and name the copy: `cp -r {settings.matrices} matrices`, then ENVBUILDER_MATRICES=matrices",
        )
    records = Records(matrices=settings.matrices)
    records.refuse_unwritable()
    return records
