"""Libraries that other archives contain too, if the archive of a lock is unavailable."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from envbuilder.catalog.archives import ArchivePin, VendorArchive
from envbuilder.core.errors import SourceUnreachable
from envbuilder.image.vendor.libraries import ArchiveFiles, VendorArchives
from envbuilder.oci.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class AlternativeArchives:
    """Publishers of archives, and other archives of the catalog with the same libraries.

    Attributes:
        store: Receives archives and libraries.
        progress: Progress callback; receives one line of text.
    """

    files: ArchiveFiles
    archives: tuple[VendorArchive, ...]
    store: Store
    progress: Callable[[str], None]

    def fetch(self, pin: ArchivePin, progress: Callable[[int, int], None]) -> None:
        """See `ArchiveFiles.fetch`; takes the libraries out of other archives if the archive is unavailable."""
        try:
            self.files.fetch(pin, progress)
        except SourceUnreachable as error:
            self.progress(f"{pin.file} is unavailable: {error.message}")
            for other in alternatives(pin, self.archives):
                self._take(other)
            if not all(library.sha256 and self.store.has(f"sha256:{library.sha256}") for library in pin.libraries):
                raise

    def _take(self, other: ArchivePin) -> None:
        names = ", ".join(library.soname for library in other.libraries)
        self.progress(f"looking for the same libraries in {other.file}: {names}")
        try:
            VendorArchives(store=self.store, files=self.files, progress=self.progress).opened(other)
        except SourceUnreachable as error:
            self.progress(f"{other.file} is unavailable too: {error.message}")


def alternatives(pin: ArchivePin, archives: Iterable[VendorArchive]) -> Iterator[ArchivePin]:
    """Yield other archives with libraries of a pin, found by their sha256, in the order of the catalog.

    None can replace an archive with a library of unknown sha256, or with the text of the license.
    """
    wanted = {library.sha256 for library in pin.libraries}
    if pin.eula or "" in wanted:
        return
    for archive in archives:
        found = [library.soname for library in archive.libraries if library.sha256 in wanted]
        if found and archive.sha256 != pin.sha256:
            yield archive.pin(found)
