"""Layer of the libraries of a vendor archive: the files as they are, their links, and the text of the license."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from envbuilder.catalog.archives import ArchivePin
from envbuilder.image.layers.entries import Entry, link
from envbuilder.image.layers.needed_libraries import IS_LIBRARY, needed_by_file
from envbuilder.image.vendor.placement import PlacedFile, library_links
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import EPOCH, Kind, Member, opened_at


def library_entries(pin: ArchivePin, files: Iterable[PlacedFile], store: Store) -> Iterator[Entry]:
    """Yield the entries of an archive.

    Args:
        pin: The archive.
        files: Its files, which are in the store.
        store: The store.

    Raises:
        VerificationFailed: A file of the store was damaged.
    """
    for file in files:
        opened = partial(opened_at, store.verified(file.digest), 0)
        member = Member(path=file.path, kind=Kind.FILE, mode=0o644, mtime=EPOCH, size=file.size, open=opened)
        yield Entry(member=member, origin=pin.file, digest=file.digest)
    for path, target in library_links(pin):
        yield link(path, target)


def required(entry: Entry) -> frozenset[str]:
    """Return the sonames that an entry requires; empty for anything but a library."""
    if entry.member.kind is not Kind.FILE or not IS_LIBRARY.fullmatch(entry.path):
        return frozenset()
    with entry.member.open() as stream:
        return needed_by_file(stream)
