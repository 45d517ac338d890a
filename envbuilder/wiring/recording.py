"""The catalog folder as something that may be written to."""

from __future__ import annotations

from envbuilder.core.errors import UsageError
from envbuilder.curation.proof.records import Records
from envbuilder.wiring.settings import Settings


def records_of(settings: Settings) -> Records:
    """Where evidence is kept: a checkout, or the folder that the user named.

    Raises:
        UsageError: The catalog is inside an installed package, or cannot be written.
    """
    if settings.packaged:
        raise UsageError(
            f"the catalog of the installed package, {settings.matrices}, is not written to",
            hint=f"copy it and name the copy: `cp -r {settings.matrices} matrices`, then ENVBUILDER_MATRICES=matrices",
        )
    records = Records(matrices=settings.matrices)
    records.refuse_unwritable()
    return records
