"""Devices of this host and the files of their driver, for a command without a container engine."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.corrupt_file import Damaged
from envbuilder.core.elf import open_elf, read_shared_object

LIBRARIES = "/run/envbuilder/driver"
"""Directory of the libraries in the container. It is on `LD_LIBRARY_PATH`, as Apptainer does it: their directories on
this host may be others than those where an image searches, and the image's own cache of libraries does not change."""

SEARCH = "LD_LIBRARY_PATH"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceEdits:
    """What a container needs for devices.

    Attributes:
        nodes: `(path on this host, path below /dev)`.
        mounts: `(path on this host, path in the container)` of files and sockets of the driver, read-only.
        links: `(target, path)` of symbolic links to mounted files; the target may be relative to the link.
    """

    env: tuple[tuple[str, str], ...] = ()
    nodes: tuple[tuple[str, str], ...] = ()
    mounts: tuple[tuple[str, str], ...] = ()
    links: tuple[tuple[str, str], ...] = ()

    def with_more(self, other: DeviceEdits) -> DeviceEdits:
        """Return these and other ones; each at its first position, and the last value of a variable."""
        return DeviceEdits(
            env=tuple((dict(self.env) | dict(other.env)).items()),
            nodes=tuple(dict.fromkeys((*self.nodes, *other.nodes))),
            mounts=tuple(dict.fromkeys((*self.mounts, *other.mounts))),
            links=tuple(dict.fromkeys((*self.links, *other.links))),
        )

    def placed(self) -> DeviceEdits:
        """Return the same with all libraries in one directory, under every name that programs load them by.

        Links are mounts then, since the image may be read-only.
        """
        libraries, others = dict[str, str](), dict[str, str]()
        for source, target in self.mounts:
            if ".so" in posixpath.basename(target):
                for name in (posixpath.basename(target), *_soname(Path(source))):
                    libraries.setdefault(name, source)
            else:
                others.setdefault(target, source)
        for target, link in self.links:
            if library := libraries.get(posixpath.basename(target)):
                libraries.setdefault(posixpath.basename(link), library)
        search = ":".join(filter(None, (dict(self.env).get(SEARCH, ""), LIBRARIES if libraries else "")))
        env = dict(self.env) | ({SEARCH: search} if search else {})
        placed = {f"{LIBRARIES}/{name}": source for name, source in libraries.items()} | others
        return DeviceEdits(
            env=tuple(sorted(env.items())),
            nodes=self.nodes,
            mounts=tuple((source, target) for target, source in sorted(placed.items())),
        )


def _soname(library: Path) -> tuple[str, ...]:
    """Return the name by which other libraries and programs load a library; none for a script or a damaged file."""
    try:
        with library.open("rb") as stream:
            name = read_shared_object(open_elf(stream)).soname
    except (Damaged, OSError):
        return ()
    return (name,) if name and "/" not in name else ()
