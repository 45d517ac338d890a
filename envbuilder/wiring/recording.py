"""The catalog folder as something that may be written to."""

from __future__ import annotations

from envbuilder.core.errors import UsageError
from envbuilder.curation.proof.records import Records
from envbuilder.wiring.settings import Places


def records_of(places: Places) -> Records:
    """Where evidence is kept: a checkout, or the folder that the user named.

    Raises:
        UsageError: The catalog is inside an installed package, or cannot be written.
    """
    if places.packaged:
        raise UsageError(
            f"the catalog of the installed package, {places.matrices}, is not written to",
            hint=f"copy it and name the copy: `cp -r {places.matrices} matrices`, then ENVBUILDER_MATRICES=matrices",
        )
    records = Records(matrices=places.matrices)
    records.refuse_unwritable()
    return records
