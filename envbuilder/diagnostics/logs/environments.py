"""Search of the catalog for the environment that wrote a log, and for a suitable replacement."""

from __future__ import annotations

import re

from envbuilder.catalog.environments import Catalog, Environment
from envbuilder.core.versions import Release, release_of
from envbuilder.diagnostics.logs.extract import ExtractedFacts

_DLL = re.compile(r"cudart64_(\d+?)(\d)\.dll")


def row_of(catalog: Catalog, said: ExtractedFacts) -> Environment | None:
    """Return the row of the TensorFlow that wrote the log, with CUDA; None if unknown."""
    if said.tensorflow is None:
        fitting = rows_that_fit(catalog, said)
        return fitting[-1] if fitting and len({row.cuda.compiled for row in fitting if row.cuda}) == 1 else None
    release = said.tensorflow.head(2)
    return next(
        (row for row in catalog.environments if row.cuda and row.framework.version.release[:2] == release), None
    )


def rows_that_fit(catalog: Catalog, said: ExtractedFacts) -> tuple[Environment, ...]:
    """Return rows that open all missing libraries, and whose TensorFlow writes such messages; oldest first."""
    rows = [row for row in catalog.environments if row.cuda is not None]
    fitting = [row for row in rows if all(_has_library(row, soname) for soname in said.sonames)] if said.sonames else []
    return tuple([row for row in fitting if _writes(row, said)] or fitting)


def rows_for_cuda(catalog: Catalog, cuda: Release) -> tuple[Environment, ...]:
    """Return rows whose TensorFlow was compiled with this CUDA, newest first."""
    return tuple(
        row for row in reversed(catalog.environments) if row.cuda and row.cuda.compiled.head(2) == cuda.head(2)
    )


def rows_for_python(catalog: Catalog, python: Release) -> tuple[Environment, ...]:
    """Return rows with a wheel for an interpreter, newest first."""
    return tuple(
        row for row in reversed(catalog.environments) if any(each.head(2) == python.head(2) for each in row.pythons)
    )


def bound(row: Environment, package: str) -> str:
    """Return the row's requirement for a package, such as `protobuf<3.21`; empty if it has none."""
    return next(
        (
            each.requirement
            for each in (*row.constraints, *row.additions)
            if re.match(rf"{package}\b", each.requirement)
        ),
        "",
    )


def _has_library(row: Environment, soname: str) -> bool:
    if row.cuda is None:
        return False
    return soname in row.cuda.sonames or soname in row.cuda.optional or _of_dll(soname) == row.cuda.compiled


def _of_dll(soname: str) -> Release | None:
    """Return the CUDA release in the name of a Windows runtime: 10.1 for `cudart64_101.dll`."""
    match = _DLL.fullmatch(soname)
    return release_of(f"{match[1]}.{match[2]}") if match else None


def _writes(row: Environment, said: ExtractedFacts) -> bool:
    release = Release(".".join(map(str, row.framework.version.release[:2])))
    return (said.since is None or release >= said.since) and (said.until is None or release <= said.until)
