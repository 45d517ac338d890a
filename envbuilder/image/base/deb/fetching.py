"""Fetch .debs, each from the first archive that has it, else from a mirror."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from envbuilder.core.errors import SourceUnreachable, VerificationFailed
from envbuilder.image.base.deb.archive import DebArchive
from envbuilder.image.mirror.file_mirror import FileMirror, lacking_files
from envbuilder.lock.index.fetching import fetch_into
from envbuilder.lock.index.index import IndexFile
from envbuilder.lock.lock import OsPackagePin
from envbuilder.oci.store import Store

_CONNECTIONS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedPackage:
    """A .deb that could not be fetched."""

    pin: OsPackagePin
    error: SourceUnreachable | VerificationFailed


def fetch_package(archive: DebArchive, pin: OsPackagePin, store: Store) -> int | FailedPackage:
    """Fetch a .deb into a store; return the position of the archive that had it, or the failure of the first one."""
    failure: SourceUnreachable | None = None
    for place, url in enumerate(archive.addresses(pin.file)):
        try:
            fetch_into(replace(deb_file(pin), url=url), store, web=archive.web, pacing=archive.pacing)
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


def silent(archive: DebArchive, pins: Sequence[OsPackagePin], error: SourceUnreachable) -> list[FailedPackage]:
    """Return the failures of .debs whose archives did not answer for one of them."""
    title = archive.distribution.title
    return [
        FailedPackage(
            pin=pin,
            error=SourceUnreachable(
                f"{deb_file(pin).file} cannot be fetched: no {title} archive answers ({error.message})",
                hint=error.hint,
            ),
        )
        for pin in pins
    ]


def fetch_from_mirror(mirror: FileMirror, failures: Sequence[FailedPackage]) -> tuple[FailedPackage, ...]:
    """Fetch the .debs that no archive delivers from a mirror; return the failures that are left, in their order."""
    forgotten = {deb_file(each.pin): each.error for each in failures if isinstance(each.error, SourceUnreachable)}
    if not forgotten:
        return tuple(failures)
    try:
        lacking = lacking_files(mirror, tuple(forgotten), next(iter(forgotten.values())))
    except SourceUnreachable:  # The error of the first failure states it.
        return tuple(failures)

    def replaced(failure: FailedPackage) -> FailedPackage | None:
        file = deb_file(failure.pin)
        error = forgotten.get(file)
        if error is None or file in lacking:
            return failure
        try:
            mirror.fetch_instead(error, file)
        except (SourceUnreachable, VerificationFailed) as second:
            return FailedPackage(pin=failure.pin, error=second)
        return None

    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        return tuple(filter(None, pool.map(replaced, failures)))


def deb_file(pin: OsPackagePin) -> IndexFile:
    """Return a .deb as a file that is known by its sha256, without an address."""
    return IndexFile(file=pin.file.rpartition("/")[2], sha256=pin.sha256, url="", size=pin.size)
