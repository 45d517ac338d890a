"""Facts of workers as typed values, without an opinion, and their decoding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from envbuilder.core.conversion.reading import Mismatch, Mismatched
from envbuilder.core.errors import UsageError
from envbuilder.core.field_rules import At, Inside
from envbuilder.core.json_input import BadJson, load_json
from envbuilder.core.observation import Fact
from envbuilder.core.structure import load
from envbuilder.diagnostics.facts.hardware import Measured
from envbuilder.diagnostics.probe.decoding import DIALECT, invalid

SCHEMA = 1
KIND = "multi-node-worker"
_HINT = "facts come from the program that `envbuilder multi-node worker` writes"


class Step(StrEnum):
    """The step towards another worker: resolve its name, connect to its port, exchange who is who."""

    NAME = "name"
    CONNECT = "connect"
    HELLO = "hello"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachError:
    """The last failed attempt to reach another worker.

    Attributes:
        type: Name of the error, such as `ECONNREFUSED`, `EAI_NONAME` or `WrongWorker`.
    """

    step: Step
    type: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """Statements of a worker about itself to another one; None for what it did not state."""

    index: int | None
    tensorflow: str | None
    workers: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerFacts:
    """Another worker, as one worker saw it. Times are seconds since its start; None if it did not happen.

    Attributes:
        address: `HOST:PORT`.
        addresses: IP addresses of the host.
        error: The last failed attempt; None after a successful one.
        hello: The last answer; None without one.
        connected: Time of the connection to it.
        heard: Time of the connection from it.
        left: Time of the end of the connection.
        bye: Its last word: `done`, or `failed` if it had no result; None if it ended without a word.
    """

    index: int
    address: str
    addresses: tuple[str, ...]
    error: ReachError | None
    hello: Hello | None
    connected: float | None
    heard: float | None
    left: float | None
    bye: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Properties that identify a worker.

    Attributes:
        network: Id of its network namespace, unique between machines.
        tensorflow: Version of the installed TensorFlow; empty if unknown.
        proxies: Names of the variables with a proxy that are set, sorted.
        exempt: Hosts that need no proxy, as the variables have them.
    """

    host: str
    network: str
    tensorflow: str
    python: str
    proxies: tuple[str, ...]
    exempt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Formed:
    """The cluster in TensorFlow.

    Attributes:
        version: `tensorflow.__version__`.
        replicas: Number of devices that train, of all workers.
        devices: Devices of this worker.
    """

    version: str
    replicas: int
    devices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """The all-reduce of an array with known numbers.

    Attributes:
        bytes: Size of the array.
        wrong: Number of wrong elements in all repetitions.
    """

    bytes: int
    wrong: int
    seconds: tuple[Measured, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AllReduces:
    """All-reduces of several sizes.

    Attributes:
        replicas: Number of replicas of each worker, as their sum came back.
        sizes: In ascending order.
    """

    replicas: tuple[int, ...]
    sizes: tuple[Sum, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained:
    """A training.

    Attributes:
        values: Weights at the end; None for a number that is not finite.
        seconds: Duration of each step; empty if they were not measured.
    """

    values: tuple[float | None, ...]
    seconds: tuple[Measured, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFacts:
    """All facts of one worker.

    Attributes:
        origin: Name of the file.
        index: Number of the worker, from 0.
        workers: `HOST:PORT` of all.
        one_worker: The training without the others.
        training: The same training together.
    """

    origin: str
    index: int
    workers: tuple[str, ...]
    seconds: Measured
    identity: Identity
    peers: tuple[PeerFacts, ...]
    port: Annotated[Fact[Annotated[int, Inside("port")]], At("facts", "port")]
    strategy: Annotated[Fact[Formed], At("facts", "strategy")]
    all_reduce: Annotated[Fact[AllReduces], At("facts", "all-reduce")]
    one_worker: Annotated[Fact[Trained], At("facts", "one-worker")]
    training: Annotated[Fact[Trained], At("facts", "training")]

    @property
    def name(self) -> str:
        """Number and address, for messages."""
        return f"worker {self.index} ({self.workers[self.index]})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The facts of all workers that reported.

    Attributes:
        workers: By index; at least one, each index once.
    """

    workers: tuple[WorkerFacts, ...]

    @property
    def addresses(self) -> tuple[str, ...]:
        """`HOST:PORT` of all workers, as the first that reported has them."""
        return self.workers[0].workers

    @property
    def missing(self) -> tuple[int, ...]:
        """Numbers of the workers that did not report."""
        reported = {worker.index for worker in self.workers}
        return tuple(index for index in range(len(self.addresses)) if index not in reported)

    def seen_by_others(self, index: int) -> tuple[tuple[WorkerFacts, PeerFacts], ...]:
        """Return a worker as each of the others saw it."""
        return tuple((worker, peer) for worker in self.workers for peer in worker.peers if peer.index == index)


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
