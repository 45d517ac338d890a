"""The probe's output to facts."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.core.conversion.reading import Dialect, Mismatch, Mismatched
from envbuilder.core.errors import Fault, InvalidInput, ToolFailed
from envbuilder.core.image_layout import VENV
from envbuilder.core.json_input import BadJson, load_json, printable
from envbuilder.core.structure import load
from envbuilder.diagnostics.facts.facts import FACTS_SCHEMA, Facts
from envbuilder.diagnostics.facts.hardware import Measured

DIALECT = Dialect(text=printable)
PYTHON = f"/{VENV}/bin/python"
"""The interpreter of an image."""
_TAIL_LINES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class _Version:
    schema: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsDocument:
    """The output of the probe."""

    seconds: Measured
    facts: object


def decode(document: str | bytes, origin: str, *, without: frozenset[str] = frozenset()) -> Facts:
    """Decode the output of the probe.

    Args:
        document: The probe's standard output, whole.
        origin: Its origin; names the file in errors.
        without: Names of facts to leave out, which saves time with many documents.

    Raises:
        InvalidInput: It does not match this schema of the probe; names every invalid field.
    """
    try:
        return _facts(parsed(document), origin, without)
    except Mismatched as error:
        raise invalid(error, origin, "facts come from envbuilder's probe; run `envbuilder validate` again") from error


def parsed(document: str | bytes) -> object:
    """Return the JSON of a document of facts; raise `Mismatched` if it is none."""
    try:
        return load_json(document, surrogates=True)
    except BadJson as error:
        raise Mismatched(Mismatch(path=(), problem=f"is not one JSON document: {error}")) from error


def _facts(document: object, origin: str, without: frozenset[str]) -> Facts:
    if load(_Version, document, dialect=DIALECT).schema != FACTS_SCHEMA:
        problem = f"must be {FACTS_SCHEMA}: this comes from another version of envbuilder"
        raise Mismatched(Mismatch(path=("schema",), problem=problem))
    root = load(FactsDocument, document, dialect=DIALECT)
    facts = root.facts
    if isinstance(facts, dict):
        kept = {name: fact for name, fact in facts.items() if name not in without}
        facts = {**kept, "origin": origin, "seconds": root.seconds}
    return load(Facts, facts, dialect=DIALECT, at=("facts",))


def invalid(error: Mismatched, origin: str, hint: str) -> InvalidInput:
    """Return the error for a document that does not match its type."""
    faults = (Fault(file=origin, line=0, field=each.field, problem=each.problem) for each in error.mismatches)
    return InvalidInput(tuple(faults), hint=hint)


def read_answer(status: int, stdout: bytes, stderr: bytes, *, origin: str) -> Facts:
    """Return the facts that a probe printed.

    Raises:
        ToolFailed: It ended with an error, or printed something else.
    """
    tail = "\n".join(f"  {line}" for line in stderr.decode("utf-8", "replace").splitlines()[-_TAIL_LINES:])
    wrote = f"; it wrote\n{tail}" if tail else ""
    if status != 0:
        raise ToolFailed(f"the probe in {origin} exited with status {status}{wrote}", hint=_hint(status))
    try:
        return decode(stdout, origin)
    except InvalidInput as error:
        fault = error.faults[0]
        problem = f"{fault.field} {fault.problem}".strip()
        hint = "something in the image writes to standard output before Python starts (entry point, sitecustomize)"
        raise ToolFailed(f"the probe in {origin} returned no facts: {problem}{wrote}", hint=hint) from error


def _hint(status: int) -> str:
    if status in {126, 127}:
        return f"there is no interpreter at {PYTHON}: the image may not be built by envbuilder"
    if status == 137:
        return "the container was killed, usually for lack of memory: raise its memory limit"
    return "start the Python of the image by hand: `docker run --rm -it IMAGE python`"
