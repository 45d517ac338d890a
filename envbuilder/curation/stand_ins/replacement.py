"""Replacement of libraries in a lock by stand-ins, where their archive cannot be fetched."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from envbuilder.catalog.archives import ArchivedLibrary, ArchiveFormat, ArchivePin
from envbuilder.core.image_layout import LIBRARIES
from envbuilder.curation.stand_ins.imported_symbols import ImportedSymbol, wheel_imports
from envbuilder.curation.stand_ins.library import compiled, stand_in
from envbuilder.lock.lock import Lock

PUBLISHER = "stand-ins"
"""Publisher of stand-ins in the lock of a proof; it has no files."""

DRIVER = "libcuda.so.1"
DRIVER_IN_CONTAINER = f"/{LIBRARIES}/{DRIVER}"
"""Where the container runtime mounts the driver, and a proof puts a stand-in: no image contains it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaced:
    """A lock whose missing libraries are stand-ins.

    Attributes:
        lock: The lock; its stand-ins are in the store.
        files: `(path in the container, content)` of what a run needs beside the image: a library for the driver.
        sonames: Replaced libraries, sorted; that of the driver is one of them.
    """

    lock: Lock
    files: tuple[tuple[str, bytes], ...] = ()
    sonames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIns:
    """Makes stand-ins for the libraries of locks.

    Attributes:
        wheel: Returns the file of the TensorFlow wheel of a lock.
        is_available: Whether a library of an archive can be had here.
        keep: Puts a library into the store; returns its digest.
        work: Directory with room for the largest library of the wheel.
        search_path: Directories in which the C compiler is searched.
    """

    wheel: Callable[[Lock], Path]
    is_available: Callable[[ArchivePin, ArchivedLibrary], bool]
    keep: Callable[[bytes], str]
    work: Path
    search_path: str

    def replace(self, lock: Lock, *, driver: bool) -> Replaced:
        """Replace the libraries of a lock that are unavailable here.

        `driver`: TensorFlow cannot be imported without the library of the driver.

        Raises:
            ToolMissing: There is no C compiler.
            SourceUnreachable: TensorFlow's wheel cannot be fetched.
        """
        missing = [
            pin
            for pin in (lock.cuda.archives if lock.cuda else ())
            if not all(self.is_available(pin, library) for library in pin.libraries)
        ]
        if lock.cuda is None or not (missing or driver):
            return Replaced(lock=lock)
        imports = wheel_imports(self.wheel(lock), self.work)
        archives = tuple(part for pin in lock.cuda.archives for part in self._parts(pin, imports))
        files = ((DRIVER_IN_CONTAINER, self._compiled(DRIVER, imports)),) if driver else ()
        changed = replace(lock, cuda=replace(lock.cuda, archives=archives), image=None)
        sonames = [library.soname for pin in archives if pin.publisher == PUBLISHER for library in pin.libraries] + [
            DRIVER
        ] * driver
        return Replaced(lock=changed, files=files, sonames=tuple(sorted(sonames)))

    def _parts(self, pin: ArchivePin, imports: Sequence[ImportedSymbol]) -> tuple[ArchivePin, ...]:
        """Return an archive without the replaced libraries, and an archive of stand-ins for these."""
        there = tuple(library for library in pin.libraries if self.is_available(pin, library))
        missing = [library for library in pin.libraries if library not in there]
        kept = (replace(pin, libraries=there),) if there else ()
        return (*kept, self._stand_ins(pin, missing, imports)) if missing else kept

    def _stand_ins(
        self, pin: ArchivePin, missing: Sequence[ArchivedLibrary], imports: Sequence[ImportedSymbol]
    ) -> ArchivePin:
        """Return the pin of stand-ins, all of which are in the store, so that nothing is fetched.

        Its sha256 is that of their hashes: no layer with stand-ins has the key of one with the real libraries.
        """
        libraries = tuple(
            replace(library, sha256=self.keep(self._compiled(library.soname, imports)).removeprefix("sha256:"))
            for library in missing
        )
        sha256 = hashlib.sha256("".join(f"{each.soname} {each.sha256}\n" for each in libraries).encode()).hexdigest()
        return ArchivePin(
            id=f"{PUBLISHER}-{pin.id}",
            format=ArchiveFormat.TAR_GZIP,
            publisher=PUBLISHER,
            file=f"{PUBLISHER}-{pin.id}.tgz",
            sha256=sha256,
            libraries=libraries,
        )

    def _compiled(self, soname: str, imports: Sequence[ImportedSymbol]) -> bytes:
        return compiled(stand_in(soname, imports), self.search_path)
