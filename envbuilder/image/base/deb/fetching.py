"""Fetch .debs, each from the first archive that has it."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.core.errors import SourceUnreachable, VerificationFailed
from envbuilder.image.base.deb.archive import DebArchive
from envbuilder.lock.index.fetching import fetch_into
from envbuilder.lock.index.index import IndexFile
from envbuilder.lock.lock import OsPackagePin
from envbuilder.oci.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedPackage:
    """A .deb that could not be fetched.

    Attributes:
        pin: The package.
        error: The reason.
    """

    pin: OsPackagePin
    error: SourceUnreachable | VerificationFailed


def fetch_package(archive: DebArchive, pin: OsPackagePin, store: Store) -> int | FailedPackage:
    """Fetch a .deb into a store; return the position of the archive that had it, or the failure of the first one."""
    failure: SourceUnreachable | None = None
    for place, url in enumerate(archive.addresses(pin.file)):
        file = IndexFile(file=pin.file.rpartition("/")[2], sha256=pin.sha256, url=url, size=pin.size)
        try:
            fetch_into(file, store, web=archive.web)
        except SourceUnreachable as error:
            failure = failure or error
        except VerificationFailed as error:
            error.hint = archive.distribution.another_mirror
            return FailedPackage(pin=pin, error=error)
        else:
            return place
    failure = failure or SourceUnreachable(f"{pin.file} has no address")
    failure.hint = (
        "mirrors keep a version only until the next one: name an archive that keeps all as a further one "
        f"(a snapshot: {archive.distribution.mirror_option}), build from a bundle (--bundle FILE), or lock again: "
        "`envbuilder lock`"
    )
    return FailedPackage(pin=pin, error=failure)
