"""Loader of a directory of matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeAlias, TypeVar

from envbuilder.catalog.archives import ArchiveFacts
from envbuilder.catalog.cuda import CudaFacts
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
    read_releases,
    read_vendor_builds,
)
from envbuilder.core.conversion.reading import Tables
from envbuilder.core.errors import Fault, InvalidInput
from envbuilder.core.files import read_text

T = TypeVar("T")
States: TypeAlias = tuple[tuple[Path, int, int, int], ...]
"""Path, inode, size in bytes and time of modification of files; equal ones mean equal content."""


def load_catalog(folder: Path) -> Catalog:
    """Read and cross-check all matrices; a process reads them again only if a file has changed.

    Args:
        folder: Holds `cuda.yaml`, `bases.yaml`, `libraries.yaml`, `advisories.yaml`, `environments/*.yaml` and for each
            of these `evidence/*.yaml`; optionally `keras.yaml`, `releases.yaml`, `vendor-builds.yaml` and
            `profiles.yaml`.

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
    releases = _optional(folder / "releases.yaml", read_releases, faults)
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
        releases=releases or (),
        vendor_builds=vendor_builds or (),
        profiles=profiles or (),
    )


def _optional(file: Path, decode: Callable[[str, str], T], faults: list[Fault]) -> T | None:
    return structured_file(file, decode, faults) if file.exists() else None


def structured_file(file: Path, decode: Callable[[str, str], T], faults: list[Fault]) -> T | None:
    """Return the decoded file; None if it has faults, which are added to `faults`."""
    try:
        return decode(read_text(file), str(file))
    except InvalidInput as error:
        faults.extend(error.faults)
        return None


def read_rows(folder: Path, cuda: CudaFacts, tables: Tables, faults: list[Fault]) -> tuple[Environment, ...]:
    """Return the environments of a directory with their evidence, by file name; those with faults are left out.

    Args:
        folder: Holds `environments/*.yaml` and for each of these `evidence/*.yaml`.
        cuda: Driver and GPU tables, for the rules.
        tables: Bases, libraries and advisories by id, as `bases`, `libraries` and `advisories`.
        faults: Receives all faults.
    """
    return tuple(_rows(folder, cuda, tables, faults))


def _rows(folder: Path, cuda: CudaFacts, tables: Tables, faults: list[Fault]) -> Iterator[Environment]:
    for file in sorted((folder / "environments").glob("*.yaml")):
        proof = _proof(folder / "evidence" / file.name, faults)
        row = structured_file(file, partial(read_environment, cuda=cuda, tables=tables, proof=proof), faults)
        if row is not None:
            yield row
    faults.extend(
        Fault(file=str(file), line=0, field="", problem="environments/ has no such environment")
        for file in sorted((folder / "evidence").glob("*.yaml"))
        if not (folder / "environments" / file.name).exists()
    )


def _proof(file: Path, faults: list[Fault]) -> Proof:
    if not file.exists():
        hint = "write one with an entry of grade `documented`: where it is stated that the environment works, and when"
        faults.append(
            Fault(file=str(file), line=0, field="", problem="is missing: each environment has evidence", hint=hint)
        )
        return Proof(evidence=())
    return structured_file(file, partial(read_proof, row=file.stem), faults) or Proof(evidence=())


def in_order(rows: Iterable[Environment]) -> tuple[Environment, ...]:
    """Return environments by TensorFlow version, those with GPU support first."""
    return tuple(sorted(rows, key=lambda row: (row.framework.version, row.cuda is None, row.id)))
