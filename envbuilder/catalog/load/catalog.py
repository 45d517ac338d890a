"""Loader of a directory of matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeAlias, TypeVar

from envbuilder.catalog.archives import ArchiveFacts
from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.keras import KerasFacts
from envbuilder.catalog.load.files import in_order, read_rows, structured_file
from envbuilder.catalog.load.tables import (
    read_advisories,
    read_archives,
    read_bases,
    read_cuda,
    read_keras,
    read_libraries,
    read_profiles,
    read_vendor_builds,
)
from envbuilder.core.conversion.reading import Tables
from envbuilder.core.errors import Fault, InvalidInput

T = TypeVar("T")
States: TypeAlias = tuple[tuple[Path, int, int, int], ...]
"""Path, inode, size in bytes and time of modification of files; equal ones mean equal content."""


def load_catalog(folder: Path) -> Catalog:
    """Read and cross-check all matrices; a process reads them again only if a file has changed.

    Args:
        folder: Holds `cuda.yaml`, `bases.yaml`, `libraries.yaml`, `advisories.yaml`, `environments/*.yaml` and for each
            of these `evidence/*.yaml`; optionally `keras.yaml`, `vendor-builds.yaml` and `profiles.yaml`.

    Raises:
        InvalidInput: With every fault of every file.
    """
    return _loaded(folder, states_of(folder))


def states_of(folder: Path) -> States:
    """Return the states of the files of a catalog that exist."""
    return tuple(_states(folder))


def _states(folder: Path) -> Iterator[tuple[Path, int, int, int]]:
    for file in sorted(folder.rglob("*.yaml")):
        with suppress(OSError):  # A broken link, or removed meanwhile: the reader decides.
            state = file.stat()
            yield file, state.st_ino, state.st_size, state.st_mtime_ns


@lru_cache(maxsize=4)
def _loaded(folder: Path, _states: States) -> Catalog:
    faults: list[Fault] = []
    cuda = structured_file(folder / "cuda.yaml", read_cuda, faults)
    bases = structured_file(folder / "bases.yaml", read_bases, faults) or ()
    archives = _optional(folder / "archives.yaml", read_archives, faults) or ArchiveFacts()
    libraries = structured_file(folder / "libraries.yaml", partial(read_libraries, archives=archives), faults) or ()
    advisories = structured_file(folder / "advisories.yaml", read_advisories, faults) or ()
    keras_facts = _optional(folder / "keras.yaml", read_keras, faults)
    vendor_builds = _optional(folder / "vendor-builds.yaml", read_vendor_builds, faults)
    profiles = _optional(folder / "profiles.yaml", read_profiles, faults)
    tables: Tables = {
        "bases": {base.id: base for base in bases},
        "libraries": {library_set.id: library_set for library_set in libraries},
        "advisories": {advisory.id: advisory for advisory in advisories},
    }
    if faults or cuda is None:
        # Every row depends on these tables; the faults of rows would only follow from theirs.
        raise InvalidInput(tuple(faults))
    rows = read_rows(folder, cuda, tables, faults)
    if not rows and not faults:
        faults.append(Fault(file=str(folder / "environments"), line=0, field="", problem="holds no environment"))
    if faults:
        raise InvalidInput(tuple(faults))
    return Catalog(
        environments=in_order(rows),
        bases=bases,
        libraries=libraries,
        advisories=advisories,
        cuda=cuda,
        archives=archives,
        keras=keras_facts or KerasFacts(),
        vendor_builds=vendor_builds or (),
        profiles=profiles or (),
    )


def _optional(file: Path, decode: Callable[[str, str], T], faults: list[Fault]) -> T | None:
    return structured_file(file, decode, faults) if file.exists() else None
