"""The probe's JSON to facts."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.core.conversion.reading import Dialect, Mismatch, Mismatched
from envbuilder.core.errors import Fault, InvalidInput
from envbuilder.core.json_input import BadJson, load_json, printable
from envbuilder.core.structure import load
from envbuilder.diagnostics.facts.facts import FACTS_SCHEMA, Facts
from envbuilder.diagnostics.facts.hardware import Measured

DIALECT = Dialect(text=printable)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Version:
    schema: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsDocument:
    """The output of the probe."""

    seconds: Measured
    facts: object


def decode(document: str | bytes, origin: str) -> Facts:
    """Decode the output of the probe.

    Args:
        document: The probe's standard output, whole.
        origin: Its origin; names the file in errors.

    Raises:
        InvalidInput: It does not match this schema of the probe; names every invalid field.
    """
    try:
        return _facts(parsed(document), origin)
    except Mismatched as error:
        raise invalid(error, origin, "facts come from envbuilder's probe; run `envbuilder validate` again") from error


def parsed(document: str | bytes) -> object:
    """Return the JSON of a document of facts; raise `Mismatched` if it is none."""
    try:
        return load_json(document, surrogates=True)
    except BadJson as error:
        raise Mismatched(Mismatch(path=(), problem=f"is not one JSON document: {error}")) from error


def _facts(document: object, origin: str) -> Facts:
    if load(_Version, document, dialect=DIALECT).schema != FACTS_SCHEMA:
        problem = f"must be {FACTS_SCHEMA}: this comes from another version of envbuilder"
        raise Mismatched(Mismatch(path=("schema",), problem=problem))
    root = load(FactsDocument, document, dialect=DIALECT)
    extended = {**root.facts, "origin": origin, "seconds": root.seconds} if isinstance(root.facts, dict) else root.facts
    return load(Facts, extended, dialect=DIALECT, at=("facts",))


def invalid(error: Mismatched, origin: str, hint: str) -> InvalidInput:
    """Return the error for a document that does not match its type."""
    faults = (Fault(file=origin, line=0, field=each.field, problem=each.problem) for each in error.mismatches)
    return InvalidInput(tuple(faults), hint=hint)
