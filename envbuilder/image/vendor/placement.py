"""Places of the files of a vendor archive in an image; they depend on the lock alone."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from envbuilder.catalog.archives import ArchivedLibrary, ArchivePin
from envbuilder.core.image_layout import LIBRARIES, LICENSES
from envbuilder.image.vendor.records import TakenFile


def placed(pin: ArchivePin, taken: Mapping[str, TakenFile]) -> dict[str, TakenFile]:
    """Return the libraries of an archive and the text of its license by their relative paths in the image, sorted.

    Args:
        pin: The archive.
        taken: The files by the path that the pin names.
    """
    places = {library_path(library): taken[library.path] for library in pin.libraries}
    if pin.eula:
        places[license_path(pin)] = taken[pin.eula]
    return dict(sorted(places.items()))


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
