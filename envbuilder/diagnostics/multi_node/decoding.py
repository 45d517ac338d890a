"""The output of workers to facts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from envbuilder.core.conversion.reading import Mismatch, Mismatched
from envbuilder.core.errors import UsageError
from envbuilder.core.json_input import BadJson, load_json
from envbuilder.core.structure import load
from envbuilder.diagnostics.multi_node.facts import Gathered, WorkerFacts
from envbuilder.diagnostics.probe.decoding import DIALECT, invalid

SCHEMA = 1
KIND = "multi-node-worker"
_HINT = "facts come from the program that `envbuilder multi-node worker` writes"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    schema: int
    kind: str


def decode_worker(text: str, origin: str) -> WorkerFacts:
    """Decode the output of a worker, one line; others around it, such as those of a log, are skipped.

    `origin` names the file in errors.

    Raises:
        InvalidInput: It does not match this schema; names every invalid field.
    """
    try:
        return _facts(_document(text), origin)
    except Mismatched as error:
        raise invalid(error, origin, _HINT) from error


def _document(text: str) -> object:
    """Return the last line that is a document of a worker; raise `Mismatched` if there is none."""
    problem = "contains no facts of a worker"
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                return load_json(line, surrogates=True)
            except BadJson as error:
                problem = f"is not one JSON document: {error}"
    raise Mismatched(Mismatch(path=(), problem=problem))


def _facts(document: object, origin: str) -> WorkerFacts:
    head = load(_Head, document, dialect=DIALECT)
    if (head.schema, head.kind) != (SCHEMA, KIND):
        problem = f"must be {KIND}, schema {SCHEMA}; this is {head.kind}, schema {head.schema}"
        raise Mismatched(Mismatch(path=("kind",), problem=problem))
    extended = {**document, "origin": origin} if isinstance(document, dict) else document
    facts = load(WorkerFacts, extended, dialect=DIALECT)
    others = {index for index in range(len(facts.workers)) if index != facts.index}
    if not 0 <= facts.index < len(facts.workers):
        raise Mismatched(Mismatch(path=("index",), problem=f"must be below {len(facts.workers)}"))
    if {peer.index for peer in facts.peers} != others:
        raise Mismatched(Mismatch(path=("peers",), problem="must have every other worker once"))
    return facts


def gather(workers: Iterable[WorkerFacts]) -> Gathered:
    """Return the facts of several workers of one job.

    Raises:
        UsageError: There are none, or two have the same number.
    """
    known: dict[int, WorkerFacts] = {}
    for worker in workers:
        other = known.setdefault(worker.index, worker)
        if other is not worker:
            raise UsageError(
                f"{other.origin} and {worker.origin} are both of worker {worker.index}",
                hint="give the facts of one run; start each worker with a number of its own",
            )
    if not known:
        raise UsageError("no worker wrote facts", hint="look at the logs of the workers")
    return Gathered(workers=tuple(known[index] for index in sorted(known)))
