"""Places of the files of a vendor archive in an image; they depend on the lock alone."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass

from envbuilder.catalog.archives import ArchivedLibrary, ArchivePin
from envbuilder.core.image_layout import LIBRARIES, LICENSES
from envbuilder.image.vendor.records import TakenFile


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedFile:
    """A file of an archive in an image.

    Attributes:
        path: Relative path in the image.
        digest: `sha256:…` of its content, under which it is in the store.
        size: Its bytes.
    """

    path: str
    digest: str
    size: int


def placed(pin: ArchivePin, taken: Mapping[str, TakenFile]) -> tuple[PlacedFile, ...]:
    """Return the libraries of an archive and the text of its license, sorted by path.

    Args:
        pin: The archive.
        taken: The files by the path that the pin names.
    """
    places = {library_path(library): taken[library.path] for library in pin.libraries}
    if pin.eula:
        places[license_path(pin)] = taken[pin.eula]
    return tuple(PlacedFile(path=path, digest=each.digest, size=each.size) for path, each in sorted(places.items()))


def library_path(library: ArchivedLibrary) -> str:
    """Return the path of a library in the image.

    Its file name is that of the pin's path, so that the layer is the same whichever archive the bytes come from.
    """
    return f"{LIBRARIES}/{posixpath.basename(library.path)}"


def library_links(pin: ArchivePin) -> tuple[tuple[str, str], ...]:
    """Return path and target of the link for each soname that is not the name of its file, sorted."""
    files = {f"{LIBRARIES}/{library.soname}": posixpath.basename(library.path) for library in pin.libraries}
    return tuple(sorted((path, name) for path, name in files.items() if posixpath.basename(path) != name))


def license_path(pin: ArchivePin) -> str:
    """Return the path of the text of the license in the image."""
    return f"{LICENSES}/{pin.id}/EULA.txt"
