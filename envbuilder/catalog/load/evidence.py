"""Decoder and encoder of `evidence/ID.yaml`.

`envbuilder catalog prove` and `envbuilder catalog audit --write` write these files; maintainers add documented
evidence by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, TypeVar

from envbuilder.catalog.evidence import Evidence, Unproven
from envbuilder.core import structure
from envbuilder.core.conversion.reading import Mismatch
from envbuilder.core.field_rules import NotEmpty
from envbuilder.core.field_types import exactly
from envbuilder.core.yaml.canonical import dump
from envbuilder.core.yaml.documents import read
from envbuilder.core.yaml.structured import structured

T = TypeVar("T", Evidence, Unproven)
PROOF_SCHEMA = 1
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

    evidence: tuple[Evidence, ...] = ()
    unproven: tuple[Unproven, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    schema: Annotated[int, exactly(PROOF_SCHEMA)]
    id: str
    evidence: Annotated[tuple[Evidence, ...], NotEmpty()]
    unproven: tuple[Unproven, ...] = ()


def read_proof(text: str, file: str, row: str) -> Proof:
    """Read the evidence of a row.

    Args:
        text: The document.
        file: Its path, for the faults.
        row: Id of the row.

    Raises:
        InvalidInput: With every fault of the document.
    """

    def check(document: _Document) -> Iterator[Mismatch]:
        if document.id != row:
            yield Mismatch(path=("id",), problem=f"must be the name of the file, {row!r}")

    document = structured(_Document, read(text, file), file, check=check)
    return Proof(evidence=_weakest_first(document.evidence), unproven=_weakest_first(document.unproven))


def dump_proof(row: str, proof: Proof) -> str:
    """Return the canonical text of `evidence/ID.yaml`."""
    document = _Document(schema=PROOF_SCHEMA, id=row, evidence=proof.evidence, unproven=proof.unproven)
    return _HEADER + dump(structure.dump(document))


def _weakest_first(entries: Iterable[T]) -> tuple[T, ...]:
    return tuple(sorted(entries, key=lambda entry: entry.grade.rank))
