"""The probe's JSON to facts, and the environment of the host that `doctor -o` writes beside them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, TypeVar

from envbuilder.core.conversion.reading import Dialect
from envbuilder.core.errors import Fault, InvalidInput
from envbuilder.core.field_rules import At
from envbuilder.core.json_input import BadJson, load_json, load_object, printable
from envbuilder.core.mismatches import Mismatch, Mismatched
from envbuilder.core.structure import dump, load
from envbuilder.diagnostics.facts.facts import FACTS_SCHEMA, Facts
from envbuilder.diagnostics.facts.hardware import Measured
from envbuilder.diagnostics.host.environment import HostEnvironment

T = TypeVar("T")
KEY = "surroundings"
_DIALECT = Dialect(text=printable)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Version:
    schema: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    seconds: Measured
    facts: object


@dataclass(frozen=True, slots=True, kw_only=True)
class _WithHostEnvironment:
    host_environment: Annotated[HostEnvironment | None, At(KEY)]


def decode(document: str | bytes, origin: str) -> Facts:
    """Decode the output of the probe.

    Args:
        document: The probe's standard output, whole.
        origin: Its origin; names the file in errors.

    Raises:
        InvalidInput: It does not match this schema of the probe; names every invalid field.
    """
    try:
        return _facts(_parsed(document), origin)
    except Mismatched as error:
        raise _invalid(error, origin, "facts come from envbuilder's probe; run `envbuilder validate` again") from error


def decode_host_environment(document: str | bytes, origin: str) -> HostEnvironment | None:
    """Read the environment of the host in a document of facts.

    Args:
        document: The same that `decode` reads.
        origin: Its origin; names the file in errors.

    Returns:
        None when the document has none.

    Raises:
        InvalidInput: They do not match the schema of this version.
    """
    try:
        return load(_WithHostEnvironment, _parsed(document), dialect=_DIALECT).host_environment
    except Mismatched as error:
        raise _invalid(error, origin, "run `envbuilder doctor -o facts.json` there again") from error


def with_host_environment(document: bytes, host_environment: HostEnvironment | None) -> bytes:
    """Return the probe's document with the environment of the host in a field of its own.

    Args:
        document: Output of the probe.
        host_environment: None leaves the document as it is.
    """
    if host_environment is None:
        return document
    return _written(load_object(document, surrogates=True) | {KEY: dump(host_environment)})


def without_software(document: bytes, why: str) -> bytes:
    """Return the probe's document with a reason in place of the installed software.

    Args:
        document: Output of the probe.
        why: Reason why nothing is known about the requested software.
    """
    whole = load_object(document, surrogates=True)
    error = {"type": "NotFound", "message": why, "trace": []}
    facts = load(_Document, whole).facts
    if not isinstance(facts, dict):
        raise BadJson("facts is not an object")
    return _written(whole | {"facts": {**facts, "software": {"ok": False, "seconds": 0.0, "error": error}}})


def _parsed(document: str | bytes) -> object:
    try:
        return load_json(document, surrogates=True)
    except BadJson as error:
        raise Mismatched(Mismatch(path=(), problem=f"is not one JSON document: {error}")) from error


def _facts(document: object, origin: str) -> Facts:
    if load(_Version, document, dialect=_DIALECT).schema != FACTS_SCHEMA:
        problem = f"must be {FACTS_SCHEMA}: this comes from another version of envbuilder"
        raise Mismatched(Mismatch(path=("schema",), problem=problem))
    root = load(_Document, document, dialect=_DIALECT)
    extended = {**root.facts, "origin": origin, "seconds": root.seconds} if isinstance(root.facts, dict) else root.facts
    return load(Facts, extended, dialect=_DIALECT, at=("facts",))


def _invalid(error: Mismatched, origin: str, hint: str) -> InvalidInput:
    faults = (Fault(file=origin, line=0, field=each.field, problem=each.problem) for each in error.mismatches)
    return InvalidInput(tuple(faults), hint=hint)


def _written(document: dict[str, object]) -> bytes:
    return (json.dumps(document, sort_keys=True, allow_nan=False) + "\n").encode("ascii")
