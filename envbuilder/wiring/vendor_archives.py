"""Adapters for vendor archives: their publishers, and the libraries in them."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from envbuilder.catalog.archives import ArchivePin
from envbuilder.core.errors import SourceUnreachable
from envbuilder.image.mirror.fallback import MirroredArchives
from envbuilder.image.vendor.alternatives import AlternativeArchives
from envbuilder.image.vendor.libraries import ArchiveFiles, VendorArchives
from envbuilder.image.vendor.publishers import Publishers
from envbuilder.lock.index.index import Index, IndexFile
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.lock.publishers import refuse_unaccepted
from envbuilder.wiring.session import Session
from envbuilder.wiring.sources import (
    accepts_nvidia_eula,
    downloads,
    file_mirror,
    package_index,
    publisher_places,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedArchives:
    """Wheels of the package index that contain unmodified libraries."""

    index: Index

    def find(self, pin: ArchivePin) -> IndexFile:
        """See `FilesOfIndex.find`."""
        try:
            name, version, _, _ = parse_wheel_filename(pin.file)
        except InvalidWheelFilename as error:
            raise SourceUnreachable(
                f"{pin.file} is not on the package index: it is not a wheel", hint="`envbuilder lock`"
            ) from error
        files = self.index.files(name, str(version))
        found = next((file for file in files if file.sha256 == pin.sha256), None)
        if found is None:
            raise SourceUnreachable(
                f"the package index does not have {pin.file} with sha256 {pin.sha256}",
                hint="name another index: --index URL",
            )
        return found


def archive_publishers(session: Session, sources: Sources, *, offline: bool = False) -> ArchiveFiles:
    """Return the adapter that fetches vendor archives."""
    settings = session.settings
    publishers = Publishers(
        facts=session.catalog.archives,
        places=publisher_places(session, sources),
        accepted=accepts_nvidia_eula(settings, sources),
        store=session.store,
        web=downloads(session, sources),
        index=IndexedArchives(index=package_index(settings, sources)),
        progress=session.progress,
        offline=offline,
    )
    return MirroredArchives(files=publishers, mirror=file_mirror(session, sources, offline=offline))


def vendor_archives(session: Session, sources: Sources, *, offline: bool = False) -> VendorArchives:
    """Return the adapter that takes libraries out of vendor archives, or out of others with the same libraries."""
    files = AlternativeArchives(
        files=archive_publishers(session, sources, offline=offline),
        archives=session.catalog.archives.archives,
        store=session.store,
        progress=session.progress,
    )
    return VendorArchives(store=session.store, files=files, progress=session.progress, listener=session.listener)


def refuse_licenses(session: Session, lock: Lock, sources: Sources) -> None:
    """Raise LicenseNotAccepted if a lock takes libraries out of archives with a license that is not accepted."""
    accepted = accepts_nvidia_eula(session.settings, sources)
    refuse_unaccepted(lock.archives, session.catalog.archives, accepted=accepted)
