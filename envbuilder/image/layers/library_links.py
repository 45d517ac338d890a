"""Links to the CUDA libraries of wheels, in a directory that the loader searches by default.

NVIDIA's wheels put each library into a directory of its own below site-packages, which no loader searches. Links make
them available without a loader cache, which a daemonless build could not write and which the NVIDIA
container runtime rewrites when a container starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from envbuilder.catalog.cuda import LibraryLink
from envbuilder.core.errors import VerificationFailed
from envbuilder.core.image_layout import LIBRARIES
from envbuilder.image.layers.entries import Entry, link

_LIBRARY = re.compile(r"nvidia/[^/]+/lib/(?P<name>lib[^/]+\.so[^/]*)")


def library_links(paths: Iterable[str], site: str, second_names: Iterable[LibraryLink]) -> list[Entry]:
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
