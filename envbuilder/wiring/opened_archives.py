"""Adapter of `catalog prove --tier archive`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO

from envbuilder.catalog.archives import ArchivePin
from envbuilder.image.vendor.libraries import VendorArchives
from envbuilder.image.vendor.placement import library_path
from envbuilder.oci.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredArchives:
    """Vendor archives in the store, fetched from their publishers."""

    archives: VendorArchives
    store: Store

    def fetch(self, pin: ArchivePin) -> int:
        """See `OpenArchives.fetch`."""
        digest = f"sha256:{pin.sha256}"
        if not self.store.has(digest):
            self.archives.files.fetch(pin, lambda _done, _all: None)
        return self.store.verified(digest).stat().st_size

    def take(self, pin: ArchivePin) -> Mapping[str, str]:
        """See `OpenArchives.take`."""
        digests = {file.path: file.digest.removeprefix("sha256:") for file in self.archives.libraries(pin)}
        return {library.path: digests[library_path(library)] for library in pin.libraries}

    def open(self, sha256: str) -> BinaryIO:
        """See `OpenArchives.open`."""
        return self.store.verified(f"sha256:{sha256}").open("rb")
