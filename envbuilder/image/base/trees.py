"""Debian trees and packed interpreters, as values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.versions import Release
from envbuilder.lock.lock import OsPackagePin


@dataclass(frozen=True, slots=True, kw_only=True)
class DebTree:
    """A root file system unpacked from .debs, without anything that belongs to one machine.

    Attributes:
        id: Id of the base system in the catalog.
        path: The uncompressed tar.
        digest: `sha256:…` of the tar, which is the diff id of the only layer made from it.
        size: Bytes of the tar.
        suite: Debian suite.
        packages: Everything installed, sorted by name; the sha256 of each is empty because the files are inside.
        missing: Suites of updates that the archive did not have.
        cleared: Programs whose set-user-ID and set-group-ID bits were cleared, as relative paths, sorted; None for a
            tree where this is unknown, such as one from before this rule.
    """

    id: str
    path: Path
    digest: str
    size: int
    suite: str
    packages: tuple[OsPackagePin, ...]
    missing: tuple[str, ...] = ()
    cleared: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerArchive:
    """An archive for `docker load`.

    Attributes:
        path: The archive.
        image_id: `sha256:…` that an engine with the classic image store gives the loaded image. The containerd store
            names images by manifest instead, so there only the diff id can be compared.
    """

    path: Path
    image_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonArchive:
    """A CPython for Linux on x86-64 that runs wherever it is unpacked.

    Attributes:
        path: The `.tar.gz`; everything in it is below the directory `python`.
        version: Full version, such as `3.8.18`.
        sha256: Of the file.
        size: Bytes of the file.
        glibc: Newest glibc symbol version that any of its libraries requires.
        needs: Sonames that the archive does not contain and the base must provide, sorted.
        library_dirs: Directories in the archive that must be on the library path before it starts, because its
            `libpython` is bound to the place where it was built; empty when it finds everything itself.
        missing: Optional standard modules that could not be imported, sorted; None if this was not tested.
        leftovers: Files in the archive that still name the directory it was packed from, sorted.
    """

    path: Path
    version: Release
    sha256: str
    size: int
    glibc: Release
    needs: tuple[str, ...]
    library_dirs: tuple[str, ...] = ()
    missing: tuple[str, ...] | None = None
    leftovers: tuple[str, ...] = ()
