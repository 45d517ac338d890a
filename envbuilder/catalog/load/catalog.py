"""Loader of a directory of matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

from envbuilder.catalog.archives import ArchiveFacts
from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.catalog.keras import KerasFacts
from envbuilder.catalog.load.environments import Proof, read_environment, read_proof
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
from envbuilder.core.files import read_text

T = TypeVar("T")


def load_catalog(folder: Path) -> Catalog:
    """Read and cross-check all matrices; a process reads them again only if a file has changed.

    Args:
        folder: Holds `cuda.yaml`, `bases.yaml`, `libraries.yaml`, `advisories.yaml`, `environments/*.yaml` and for each
            of these `evidence/*.yaml`; optionally `keras.yaml`, `vendor-builds.yaml` and `profiles.yaml`.

    Raises:
        InvalidInput: With every fault of every file.
    """
    return _loaded(folder, tuple(_states(folder)))


def _states(folder: Path) -> Iterator[tuple[Path, int, int, int]]:
    """Yield path, inode, size in bytes and time of modification of each file that exists."""
    for file in sorted(folder.rglob("*.yaml")):
        with suppress(OSError):  # A broken link, or removed meanwhile: the reader decides.
            state = file.stat()
            yield file, state.st_ino, state.st_size, state.st_mtime_ns


@lru_cache(maxsize=4)
def _loaded(folder: Path, _states: tuple[tuple[Path, int, int, int], ...]) -> Catalog:
    faults: list[Fault] = []
    cuda = _structured(folder / "cuda.yaml", read_cuda, faults)
    bases = _structured(folder / "bases.yaml", read_bases, faults) or ()
    archives = _optional(folder / "archives.yaml", read_archives, faults) or ArchiveFacts()
    libraries = _structured(folder / "libraries.yaml", partial(read_libraries, archives=archives), faults) or ()
    advisories = _structured(folder / "advisories.yaml", read_advisories, faults) or ()
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
    rows: list[Environment] = []
    for file in sorted((folder / "environments").glob("*.yaml")):
        proof = _structured(folder / "evidence" / file.name, partial(read_proof, row=file.stem), faults) or Proof()
        row = _structured(file, partial(read_environment, cuda=cuda, tables=tables, proof=proof), faults)
        if row is not None:
            rows.append(row)
    faults.extend(_orphans(folder))
    if not rows and not faults:
        faults.append(Fault(file=str(folder / "environments"), line=0, field="", problem="holds no environment"))
    if faults:
        raise InvalidInput(tuple(faults))
    return Catalog(
        environments=tuple(sorted(rows, key=_order)),
        bases=bases,
        libraries=libraries,
        advisories=advisories,
        cuda=cuda,
        archives=archives,
        keras=keras_facts or KerasFacts(),
        vendor_builds=vendor_builds or (),
        profiles=profiles or (),
    )


def _orphans(folder: Path) -> list[Fault]:
    """Return the faults of evidence without a row."""
    return [
        Fault(file=str(file), line=0, field="", problem="environments/ has no such environment")
        for file in sorted((folder / "evidence").glob("*.yaml"))
        if not (folder / "environments" / file.name).exists()
    ]


def _structured(file: Path, decode: Callable[[str, str], T], faults: list[Fault]) -> T | None:
    try:
        return decode(read_text(file), str(file))
    except InvalidInput as error:
        faults.extend(error.faults)
        return None


def _optional(file: Path, decode: Callable[[str, str], T], faults: list[Fault]) -> T | None:
    return _structured(file, decode, faults) if file.exists() else None


def _order(row: Environment) -> tuple[object, ...]:
    return (row.framework.version, row.cuda is None, row.id)
