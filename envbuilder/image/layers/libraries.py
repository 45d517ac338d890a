"""Libraries outside of wheels: links to those of CUDA wheels, and the files of vendor archives with their links.

NVIDIA's wheels put each library into a directory of its own below site-packages, which no loader searches. Links in a
directory that the loader searches by default make them available without a loader cache, which a daemonless build could
not write and which the NVIDIA container runtime rewrites when a container starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from envbuilder.catalog.archives import ArchivePin
from envbuilder.catalog.cuda import LibraryLink
from envbuilder.core.errors import VerificationFailed
from envbuilder.core.image_layout import LIBRARIES
from envbuilder.image.layers.entries import Entry, link
from envbuilder.image.layers.needed_libraries import IS_LIBRARY, needed_by_file
from envbuilder.image.vendor.placement import library_links
from envbuilder.image.vendor.records import TakenFile
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import EPOCH, Kind, Member, opened_at

_LIBRARY = re.compile(r"nvidia/[^/]+/lib/(?P<name>lib[^/]+\.so[^/]*)")


def wheel_links(paths: Iterable[str], site: str, second_names: Iterable[LibraryLink]) -> list[Entry]:
    """Return links to all libraries of CUDA wheels.

    Args:
        paths: Paths in the wheels.
        site: Directory `site-packages` in the image, relative.
        second_names: Further names for some of the libraries.

    Raises:
        VerificationFailed: A second name is for a library that no wheel has.
    """
    found = {match["name"]: f"/{site}/{path}" for path in sorted(paths) if (match := _LIBRARY.fullmatch(path))}
    names = dict(found)
    for second in second_names:
        if second.target not in found:
            raise VerificationFailed(
                f"{second.name} links to {second.target}, which is in no CUDA wheel of the lock",
                hint="run `envbuilder lock`",
            )
        names[second.name] = found[second.target]
    return [link(f"{LIBRARIES}/{name}", target) for name, target in sorted(names.items())]


def library_entries(pin: ArchivePin, files: Mapping[str, TakenFile], store: Store) -> Iterator[Entry]:
    """Yield the entries of an archive, whose files by path in the image are in the store.

    Raises:
        VerificationFailed: A file of the store was damaged.
    """
    for path, file in files.items():
        opened = partial(opened_at, store.verified(file.digest), 0)
        member = Member(path=path, kind=Kind.FILE, mode=0o644, mtime=EPOCH, size=file.size, open=opened)
        yield Entry(member=member, origin=pin.file)
    for path, target in library_links(pin):
        yield link(path, target)


def required(entry: Entry) -> frozenset[str]:
    """Return the sonames that an entry requires; empty for anything but a library."""
    if entry.member.kind is not Kind.FILE or not IS_LIBRARY.fullmatch(entry.path):
        return frozenset()
    with entry.member.open() as stream:
        return needed_by_file(stream)
