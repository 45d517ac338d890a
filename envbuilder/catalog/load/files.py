"""Files of a catalog: one file, and all environments of a directory with their evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

from envbuilder.catalog.cuda import CudaFacts
from envbuilder.catalog.environments import Environment
from envbuilder.catalog.load.environments import Proof, read_environment, read_proof
from envbuilder.core.conversion.reading import Tables
from envbuilder.core.errors import Fault, InvalidInput
from envbuilder.core.files import read_text

T = TypeVar("T")


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
        return Proof()
    return structured_file(file, partial(read_proof, row=file.stem), faults) or Proof()


def in_order(rows: Iterable[Environment]) -> tuple[Environment, ...]:
    """Return environments by TensorFlow version, those with GPU support first."""
    return tuple(sorted(rows, key=lambda row: (row.framework.version, row.cuda is None, row.id)))
