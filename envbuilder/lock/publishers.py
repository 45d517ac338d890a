"""Publishers of archives: places that replace their addresses, and licenses that a user has to accept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from envbuilder.catalog.archives import ArchiveFacts, ArchivePin
from envbuilder.core.errors import LicenseNotAccepted, UsageError
from envbuilder.core.names import row_id, shown

EVERY = "*"
"""Name that stands for every publisher without a place of its own."""
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SCHEMES = ("https", "http")


def publisher_name(text: str) -> str:
    """Return the id of a publisher, or `*`, unchanged.

    Raises:
        ValueError: It is invalid.
    """
    return text if text == EVERY else row_id(text)


def publisher_place(text: str) -> str:
    """Return a base URL or the path of a directory, unchanged.

    Raises:
        ValueError: It is empty, or a URL that is not HTTP, has no host, or has credentials, a query or a fragment.

    Example:
        >>> publisher_place("/media/usb/archives")
        '/media/usb/archives'
    """
    if not text:
        raise ValueError("must be a URL or a directory")
    if not _SCHEME.match(text):
        return text
    try:
        parts = urlsplit(text)
        host = parts.hostname
    except ValueError:
        raise ValueError(f"{shown(text)} is not a URL") from None
    if parts.scheme not in _SCHEMES or not host:
        raise ValueError(f"{shown(text)} is not an http:// or https:// URL")
    if "@" in parts.netloc:
        raise ValueError("must not have credentials: they belong into ~/.netrc")
    if parts.query or parts.fragment:
        raise ValueError(f"{shown(text)} must not have a query or a fragment")
    return text


def is_address(place: str) -> bool:
    """Return True for a URL, False for a directory."""
    return _SCHEME.match(place) is not None


def relative_to(place: str, folder: Path) -> str:
    """Return a place whose directory is relative to `folder`; a URL is returned unchanged."""
    return place if is_address(place) else str(folder / Path(place).expanduser())


def parse_publisher(text: str) -> tuple[str, str]:
    """Return name and place of `NAME=PLACE`.

    Raises:
        ValueError: It is something else.
    """
    name, equals, place = text.partition("=")
    if not equals:
        raise ValueError(f"{shown(text)} is not NAME=URL or NAME=DIR")
    return publisher_name(name), publisher_place(place)


def place_of(publisher: str, places: Mapping[str, str], facts: ArchiveFacts) -> str:
    """Return the base URL or the directory of a publisher; empty if it has no address, as the package index.

    Places by name take precedence over the catalog.
    """
    known = facts.publisher(publisher)
    return places.get(publisher) or places.get(EVERY) or (known.address if known else "")


def refuse_unknown(names: Iterable[str], facts: ArchiveFacts) -> None:
    """Raise UsageError for names that are not among the publishers of the catalog.

    Raises:
        UsageError: At least one is not.
    """
    known = [publisher.id for publisher in facts.publishers]
    unknown = sorted({*names} - {*known, EVERY})
    if unknown:
        raise UsageError(
            f"unknown publisher: {', '.join(unknown)}", hint=f"known: {', '.join(known)}; {EVERY} stands for all"
        )


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
