"""Decoder of one environment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from envbuilder.catalog.cuda import CudaFacts
from envbuilder.catalog.environments import Environment, FrameworkWheel, OtherRelease
from envbuilder.catalog.load.evidence import Proof
from envbuilder.catalog.load.rules import RULES
from envbuilder.catalog.load.tables import SchemaNumber
from envbuilder.core.conversion.reading import Mismatch, Tables
from envbuilder.core.field_rules import At
from envbuilder.core.yaml.documents import read
from envbuilder.core.yaml.structured import structured

_STEP = re.compile(r"[^.\[\]]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    schema: SchemaNumber
    row: Annotated[Environment, At()]


def read_environment(text: str, file: str, *, cuda: CudaFacts, tables: Tables, proof: Proof) -> Environment:
    """Read one file under `environments/`.

    Args:
        text: The document.
        file: Its path, for the faults.
        cuda: Driver and GPU tables, for the rules.
        tables: Bases, libraries and advisories by id, as `bases`, `libraries` and `advisories`.
        proof: Evidence of the row.

    Raises:
        InvalidInput: With every fault of the document; the rules between fields are checked if it has no other.
    """

    def completed(document: _Document) -> Environment:
        row = document.row
        wheel = replace(row.framework, others=_with_package(row.framework))
        return replace(row, framework=wheel, evidence=proof.evidence, unproven=proof.unproven)

    def check(document: _Document) -> Iterator[Mismatch]:
        return _problems(completed(document), Path(file).stem, cuda)

    return completed(structured(_Document, read(text, file), file, tables=tables, check=check))


def _problems(row: Environment, name: str, cuda: CudaFacts) -> Iterator[Mismatch]:
    if row.id != name:
        yield Mismatch(path=("id",), problem=f"must be the name of the file, {name!r}")
    for rule in RULES:
        for field, problem in rule.problems(row, cuda):
            steps = (int(step) if step.isdigit() else step for step in _STEP.findall(field))
            yield Mismatch(path=tuple(steps), problem=f"{problem} [{rule.id}]")


def _with_package(wheel: FrameworkWheel) -> tuple[OtherRelease, ...]:
    """Return the other releases of a wheel; those that name no package have its own."""
    return tuple(replace(other, package=other.package or wheel.package) for other in wheel.others)
