"""Publishers of vendor archives: their addresses, directories that stand in for them, and their licenses."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from envbuilder.catalog.archives import ArchiveFacts, ArchivePin
from envbuilder.core import units
from envbuilder.core.errors import SourceUnreachable, VerificationFailed
from envbuilder.core.http.retries import PACING, Pacing
from envbuilder.core.http.web import Web
from envbuilder.image.vendor.extraction import NEVER_UPDATED
from envbuilder.lock.index.fetching import fetch_into
from envbuilder.lock.index.index import IndexFile
from envbuilder.lock.publishers import is_address, place_of, refuse_unaccepted
from envbuilder.oci.store import Store

_DIGEST = re.compile(r"digest sha256:([0-9a-f]{64})")
_MAPPED = "--publisher NAME=DIR, or `sources.publishers` of the spec"


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
        places: Address or directory that replaces the address of a publisher, by its id; `*` for all others.
        accepted: Whether the user accepts the licenses.
        store: Receives the archives.
        index: Finds the files of the package index.
        progress: Progress callback; receives one line of text.
        offline: Refuse to download anything; directories are read.
        pacing: Waits between two attempts.
    """

    facts: ArchiveFacts
    places: Mapping[str, str]
    accepted: bool
    store: Store
    web: Web
    index: FilesOfIndex
    progress: Callable[[str], None]
    offline: bool = False
    pacing: Pacing = PACING

    def fetch(self, pin: ArchivePin, progress: Callable[[int, int], None]) -> None:
        """See `ArchiveFiles.fetch`."""
        refuse_unaccepted((pin,), self.facts, accepted=self.accepted)
        size = units.size(pin.size) if pin.size else "an unknown size"
        self.progress(
            f"fetching {pin.file}: it takes {size} on disk, and its {len(pin.libraries)} libraries their own size; "
            "the rest is not unpacked"
        )
        try:
            wanted = self._located(pin)
            fetch_into(wanted, self.store, web=self.web, progress=progress, pacing=self.pacing)
        except VerificationFailed as error:
            raise VerificationFailed(self._mismatch(pin, error.message), hint=NEVER_UPDATED) from error
        except SourceUnreachable as error:
            hint = f"{error.hint}; to use a mirror, or a directory with the file: {_MAPPED}"
            raise SourceUnreachable(error.message, hint=hint) from error

    def _located(self, pin: ArchivePin) -> IndexFile:
        place = place_of(pin.publisher, self.places, self.facts)
        if place and not is_address(place):
            return _in(Path(place), pin)
        if self.offline:
            raise SourceUnreachable(
                f"{pin.file} is not in the cache directory, and downloads are disabled", hint="build without --offline"
            )
        if not place:
            return self.index.find(pin)
        return IndexFile(
            file=pin.file, sha256=pin.sha256, url=f"{place.rstrip('/')}/{pin.path or pin.file}", size=pin.size
        )

    def _mismatch(self, pin: ArchivePin, message: str) -> str:
        """Return a mismatch in words, with the file that was delivered instead if its sha256 is known."""
        found = _DIGEST.search(message)
        wrong = self.facts.wrong_hash(pin.file, found[1]) if found else None
        return f"{message}: that is {wrong.really}" if wrong else message


def _in(folder: Path, pin: ArchivePin) -> IndexFile:
    """Return an archive in a directory that has it by its name, or by its path at the publisher."""
    tried = [folder / name for name in dict.fromkeys((pin.file, pin.path)) if name]
    file = next((path for path in tried if path.is_file()), None)
    if file is None:
        raise SourceUnreachable(
            f"{pin.file} is not in {folder}, the place of the publisher {pin.publisher}", hint=f"copy it to {tried[0]}"
        )
    return IndexFile(file=pin.file, sha256=pin.sha256, url=file.absolute().as_uri())
