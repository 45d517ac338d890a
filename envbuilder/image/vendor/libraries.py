"""Libraries of vendor archives in the store; an archive is opened once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from envbuilder.catalog.archives import ArchivedLibrary, ArchivePin
from envbuilder.image.vendor.extraction import extract, require_pinned
from envbuilder.image.vendor.placement import placed
from envbuilder.image.vendor.records import ArchiveRecords, TakenFile
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import Listener, ignore, reported


class ArchiveFiles(Protocol):
    """Publishers of archives."""

    def fetch(self, pin: ArchivePin, progress: Callable[[int, int], None]) -> None:
        """Fetch an archive, or all its libraries, into the store; what it takes on disk is stated first.

        Args:
            pin: The archive.
            progress: Receives the bytes so far, and the total.

        Raises:
            LicenseNotAccepted: A license has to be accepted first.
            SourceUnreachable: The publisher does not deliver it.
            VerificationFailed: The file does not match its sha256; it is removed.
            DiskFull: There is no room.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorArchives:
    """Archives and their libraries, in one store.

    Attributes:
        store: Holds archives, libraries and records.
        progress: Progress callback; receives one line of text.
        listener: Receives the bytes of an archive that were fetched so far.
    """

    store: Store
    files: ArchiveFiles
    progress: Callable[[str], None]
    listener: Listener = ignore

    def missing(self, pins: Sequence[ArchivePin]) -> tuple[ArchivePin, ...]:
        """Return the archives that have to be fetched: neither they nor all their libraries are in the store.

        A library is known by its sha256, so that it may have come from another archive.
        """
        return tuple(pin for pin in pins if not self.store.has(f"sha256:{pin.sha256}") and self._known(pin) is None)

    def libraries(self, pin: ArchivePin) -> dict[str, TakenFile]:
        """Return the libraries of an archive and the text of its license by path in the image; they are in the store.

        The archive is in the store unless all of them were.

        Raises:
            LicenseNotAccepted: A license has to be accepted first.
            SourceUnreachable: The archive is not in the store, and the publisher does not deliver it.
            VerificationFailed: The archive, or a library in it, is not what the lock pins.
            DiskFull: There is no room.
        """
        with self.store.only_one(f"archive-{pin.sha256}"):
            taken = self._known(pin)
            if taken is None:
                taken = self.opened(pin)
        return placed(pin, taken)

    def opened(self, pin: ArchivePin) -> dict[str, TakenFile]:
        """Take the files of a pin out of its archive, also while another process does; errors as in `libraries`."""
        digest = f"sha256:{pin.sha256}"
        if not self.store.has(digest):
            self.files.fetch(pin, reported(self.listener, pin.file))
            if not self.store.has(digest) and (taken := self._known(pin)) is not None:
                return taken
        taken = extract(pin, self.store.verified(digest), self.store, self.progress)
        ArchiveRecords(store=self.store).keep(pin.sha256, pin.inner, taken)
        return taken

    def _known(self, pin: ArchivePin) -> dict[str, TakenFile] | None:
        """Return the files of an archive if all of them are in the store; None if it has to be opened."""
        recorded = ArchiveRecords(store=self.store).taken(pin.sha256, pin.inner)
        taken = {**{library.path: found for library in pin.libraries if (found := self._pinned(library))}, **recorded}
        wanted = {*(library.path for library in pin.libraries), *([pin.eula] if pin.eula else [])}
        if not wanted <= taken.keys() or not all(self.store.has(taken[path].digest) for path in wanted):
            return None
        require_pinned(pin, taken)
        return taken

    def _pinned(self, library: ArchivedLibrary) -> TakenFile | None:
        """Return a library that the store has by its pinned sha256, from whichever archive it came."""
        digest = f"sha256:{library.sha256}"
        if not library.sha256 or not self.store.has(digest):
            return None
        size = self.store.path(digest).stat().st_size
        return TakenFile(path=library.path, file=library.path, digest=digest, size=size)
