"""Publishers of vendor archives: their addresses, directories that stand in for them, and their licences."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from envbuilder.catalog.archives import ArchiveFacts, Publisher
from envbuilder.core.errors import SourceUnreachable, UsageError, VerificationFailed
from envbuilder.core.http.retries import PACING, Pacing
from envbuilder.core.http.web import Web
from envbuilder.image.vendor.extraction import NEVER_UPDATED
from envbuilder.lock.archive_pins import ArchivePin
from envbuilder.lock.index.fetching import fetch_into
from envbuilder.lock.index.index import IndexFile
from envbuilder.oci.store import Store

_DIGEST = re.compile(r"digest sha256:([0-9a-f]{64})")
_MAPPED = "`sources.publishers` of envbuilder.yaml"


class FilesOfIndex(Protocol):
    """The package index."""

    def find(self, pin: ArchivePin) -> IndexFile:
        """Return the address of a wheel.

        Raises:
            SourceUnreachable: The index does not have it.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishers:
    """Publishers, as configured by the command line, the spec and this host.

    Attributes:
        facts: Known publishers, and known wrong hashes.
        places: Address or directory of a publisher that replaces its own address, by its id.
        accepted: Whether the user accepted the licences.
        store: Receives the archives.
        web: Sends the requests.
        index: Finds the files of the package index.
        offline: Refuse to download anything.
        pacing: Waits between two attempts.
    """

    facts: ArchiveFacts
    places: Mapping[str, str]
    accepted: bool
    store: Store
    web: Web
    index: FilesOfIndex
    offline: bool = False
    pacing: Pacing = PACING

    def require_accepted(self, pin: ArchivePin) -> None:
        """See `ArchiveFiles.require_accepted`."""
        publisher = self._publisher(pin)
        if publisher.eula and not self.accepted:
            raise UsageError(
                f"{pin.file} is used under the licence of {publisher.title}, which was not accepted: {publisher.eula}",
                hint="read it, then run the command again with --accept-nvidia-eula, or set "
                "ENVBUILDER_ACCEPT_NVIDIA_EULA=1",
            )

    def fetch(self, pin: ArchivePin, progress: Callable[[int, int], None]) -> None:
        """See `ArchiveFiles.fetch`.

        Raises:
            SourceUnreachable: The publisher, or the directory that stands in for it, does not deliver the file.
            VerificationFailed: The file does not match its sha256; it is removed.
            DiskFull: There is no room.
        """
        place = self.places.get(pin.publisher, "")
        try:
            if place and "://" not in place:
                self._take(pin, Path(place))
            else:
                wanted = self._located(pin, place)
                fetch_into(wanted, self.store, web=self.web, progress=progress, pacing=self.pacing)
        except VerificationFailed as error:
            raise VerificationFailed(self._mismatch(pin, error.message), hint=NEVER_UPDATED) from error
        except SourceUnreachable as error:
            raise SourceUnreachable(
                error.message,
                hint=f"{error.hint}; or name a mirror, or a directory that holds the file, in {_MAPPED}",
            ) from error

    def _publisher(self, pin: ArchivePin) -> Publisher:
        found = self.facts.publisher(pin.publisher)
        if found is None:
            raise UsageError(
                f"{pin.file} comes from the publisher {pin.publisher}, which is unknown to this envbuilder",
                hint="lock again with this envbuilder: `envbuilder lock`",
            )
        return found

    def _take(self, pin: ArchivePin, folder: Path) -> None:
        """Copy an archive from a directory that has it by its name, or by its path at the publisher."""
        tried = [folder / name for name in dict.fromkeys((pin.file, pin.path)) if name]
        file = next((path for path in tried if path.is_file()), None)
        if file is None:
            raise SourceUnreachable(
                f"{pin.file} is not in {folder}, which {_MAPPED} names for {pin.publisher}",
                hint=f"copy it to {tried[0]}",
            )
        fetch_into(IndexFile(file=pin.file, sha256=pin.sha256, url=file.absolute().as_uri()), self.store, web=self.web)

    def _located(self, pin: ArchivePin, place: str) -> IndexFile:
        if self.offline:
            raise SourceUnreachable(
                f"{pin.file} is not in the cache directory, and downloads are disabled", hint="build without --offline"
            )
        address = place or self._publisher(pin).address
        if not address or not pin.path:
            return self.index.find(pin)
        return IndexFile(file=pin.file, sha256=pin.sha256, url=f"{address.rstrip('/')}/{pin.path}", size=pin.size)

    def _mismatch(self, pin: ArchivePin, message: str) -> str:
        """Return a mismatch in words, with the file that was delivered instead if its sha256 is known."""
        found = _DIGEST.search(message)
        wrong = self.facts.wrong_hash(pin.file, found[1]) if found else None
        return f"{message}: that is {wrong.really}" if wrong else message
