"""Licenses that a user has to accept before libraries of vendor archives are used."""

from __future__ import annotations

from collections.abc import Iterable

from envbuilder.catalog.archives import ArchiveFacts, ArchivePin
from envbuilder.core.errors import LicenseNotAccepted


def refuse_unaccepted(archives: Iterable[ArchivePin], facts: ArchiveFacts, *, accepted: bool) -> None:
    """Raise LicenseNotAccepted if archives have a license that the user has not accepted.

    An archive whose publisher is unknown counts as one with a license.

    Args:
        archives: Archives that are about to be used, from wherever they come.
        facts: The publishers of the catalog.
        accepted: Whether the user accepts NVIDIA's license.

    Raises:
        LicenseNotAccepted: With the license, where its text is, and how to accept it.
    """
    lines = [] if accepted else [line for archive in archives if (line := _licensed(archive, facts))]
    if lines:
        listing = "\n".join(f"  {line}" for line in lines)
        raise LicenseNotAccepted(
            f"the license of NVIDIA's libraries has to be accepted before they are copied into an image:\n{listing}",
            hint="read the license, then accept it: --accept-nvidia-eula, `accept_nvidia_eula: true` in the spec, "
            "or ENVBUILDER_ACCEPT_NVIDIA_EULA=1",
        )


def _licensed(archive: ArchivePin, facts: ArchiveFacts) -> str:
    """Return an archive with its libraries and the place of its license; empty if it needs no acceptance."""
    publisher = facts.publisher(archive.publisher)
    if publisher is not None and not publisher.eula:
        return ""
    page = publisher.eula if publisher else "its publisher is not in the catalog"
    text = f"{page}, and {archive.eula} in the archive" if archive.eula else page
    return f"{archive.id}: {', '.join(pin.soname for pin in archive.libraries)} (license: {text})"
