"""Decoders of the two files of an environment, `environments/ID.yaml` and `evidence/ID.yaml`; encoder of the latter.

`envbuilder catalog prove` and `envbuilder catalog audit --write` write the evidence; maintainers add documented
evidence by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypeVar

from envbuilder.catalog.cuda import CudaFacts
from envbuilder.catalog.environments import Environment
from envbuilder.catalog.evidence import Evidence, Unproven
from envbuilder.catalog.load.rules import RULES
from envbuilder.catalog.load.tables import SchemaNumber
from envbuilder.core import structure
from envbuilder.core.conversion.reading import Mismatch, Tables
from envbuilder.core.field_rules import At, NotEmpty
from envbuilder.core.field_types import exactly
from envbuilder.core.yaml.canonical import dump
from envbuilder.core.yaml.documents import read
from envbuilder.core.yaml.structured import structured

T = TypeVar("T", Evidence, Unproven)
PROOF_SCHEMA = 1
_STEP = re.compile(r"[^.\[\]]+")
_HEADER = (
    "# How this row is known to work. Written by `envbuilder catalog prove` and `envbuilder catalog audit --write`.\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """All evidence of one row.

    Attributes:
        evidence: Weakest first, then in file order.
        unproven: Proofs that were tried without success, weakest first.
    """

    evidence: Annotated[tuple[Evidence, ...], NotEmpty()]
    unproven: tuple[Unproven, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "evidence", _weakest_first(self.evidence))
        object.__setattr__(self, "unproven", _weakest_first(self.unproven))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    schema: Annotated[int, exactly(PROOF_SCHEMA)]
    id: str
    proof: Annotated[Proof, At()]


def read_proof(text: str, file: str, row: str) -> Proof:
    """Read the evidence of a row.

    Raises:
        InvalidInput: With every fault of the document.
    """

    def check(document: _Document) -> Iterator[Mismatch]:
        if document.id != row:
            yield Mismatch(path=("id",), problem=f"must be the name of the file, {row!r}")

    return structured(_Document, read(text, file), file, check=check).proof


def dump_proof(row: str, proof: Proof) -> str:
    """Return the canonical text of `evidence/ID.yaml`."""
    return _HEADER + dump(structure.dump(_Document(schema=PROOF_SCHEMA, id=row, proof=proof)))


def _weakest_first(entries: Iterable[T]) -> tuple[T, ...]:
    return tuple(sorted(entries, key=lambda entry: entry.grade.rank))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
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

    def completed(document: _Row) -> Environment:
        row = document.row
        # Other releases that name no package have that of the row.
        others = tuple(replace(each, package=each.package or row.framework.package) for each in row.framework.others)
        wheel = replace(row.framework, others=others)
        return replace(row, framework=wheel, evidence=proof.evidence, unproven=proof.unproven)

    def check(document: _Row) -> Iterator[Mismatch]:
        return _row_problems(completed(document), Path(file).stem, cuda)

    return completed(structured(_Row, read(text, file), file, tables=tables, check=check))


def _row_problems(row: Environment, name: str, cuda: CudaFacts) -> Iterator[Mismatch]:
    if row.id != name:
        yield Mismatch(path=("id",), problem=f"must be the name of the file, {name!r}")
    for rule_id, rule in RULES.items():
        for field, problem in rule(row, cuda):
            steps = (int(step) if step.isdigit() else step for step in _STEP.findall(field))
            yield Mismatch(path=tuple(steps), problem=f"{problem} [{rule_id}]")
