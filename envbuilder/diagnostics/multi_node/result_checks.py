"""Checks of what the workers computed together in TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from envbuilder.core.observation import Fact, Seen, Unseen
from envbuilder.core.units import size
from envbuilder.diagnostics.checks.results import NotProven, Outcome, Passed, failure
from envbuilder.diagnostics.checks.tolerances import SINGLE
from envbuilder.diagnostics.multi_node.facts import AllReduces, Gathered, Trained, WorkerFacts

T = TypeVar("T")
_NO_STRATEGY = "AttributeError"
_NOT_TRIED = "NotReached"
_STOPPED = frozenset({"Signal", "Timeout"})


def cluster_forms(gathered: Gathered) -> Outcome:
    """Check that TensorFlow started on all workers."""
    missing = _without(gathered, lambda worker: worker.strategy, "TensorFlow did not form the cluster")
    if missing:
        return missing
    first = next(worker.strategy for worker in gathered.workers if isinstance(worker.strategy, Seen)).value
    kinds = ", ".join(device_kinds(gathered))
    return Passed(seen=f"TensorFlow {first.version}, {first.replicas} replicas on {kinds}")


def all_reduce_exact(gathered: Gathered) -> Outcome:
    """Check that the sums of known whole numbers are exact on all workers."""
    missing = _without(gathered, lambda worker: worker.all_reduce, "the all-reduce failed")
    if missing:
        return missing
    results = [worker.all_reduce.value for worker in gathered.workers if isinstance(worker.all_reduce, Seen)]
    absent = [index for index, count in enumerate(results[0].replicas) if count < 1]
    if absent:
        return failure(problem=f"worker {absent[0]} had no part in the sum", remedy=_REPORT)
    wrong = {each.bytes: each.wrong for result in results for each in result.sizes if each.wrong}
    if wrong:
        description = ", ".join(f"{count} elements of {size(number)}" for number, count in sorted(wrong.items()))
        return failure(problem=f"the sum over all workers is wrong: {description}", remedy=_REPORT)
    return Passed(seen=", ".join(size(each.bytes) for each in results[0].sizes))


def training_equals_one_worker(gathered: Gathered) -> Outcome:
    """Check that training together gives the weights of a training by one worker on the whole batch.

    The gradient of the whole batch is the mean of those of its parts, but for the order of the additions.
    """
    missing = _without(gathered, lambda worker: worker.one_worker, "the training by one worker failed") or _without(
        gathered, lambda worker: worker.training, "the training together failed"
    )
    if missing:
        return missing
    share = max(_difference(worker.training, worker.one_worker) for worker in gathered.workers)
    description = f"largest difference {share:.1e} of the largest weight"
    if share <= SINGLE:
        return Passed(seen=f"{description}, at most {SINGLE:.0e}")
    return failure(problem=f"other weights than with one worker: {description}, more than {SINGLE:.0e}", remedy=_REPORT)


def weights_equal(gathered: Gathered) -> Outcome:
    """Check that all workers have the same weights after the training, bit by bit."""
    missing = _without(gathered, lambda worker: worker.training, "the training together failed")
    if missing:
        return missing
    weights = {worker.training.value.values for worker in gathered.workers if isinstance(worker.training, Seen)}
    if len(weights) == 1:
        return Passed(seen=f"{len(weights.pop())} weights")
    return failure(problem="the workers have different weights after the training", remedy=_REPORT)


_REPORT = (
    "run it once more with one device for each worker (CUDA_VISIBLE_DEVICES); if it stays, report it with the facts"
)


def _without(gathered: Gathered, fact_of: Callable[[WorkerFacts], Fact[T]], problem: str) -> Outcome | None:
    """Return the outcome of a step that a worker has no result of; None if all have one."""
    unseen = [(worker, fact) for worker in gathered.workers if isinstance(fact := fact_of(worker), Unseen)]
    tried = [(worker, fact) for worker, fact in unseen if fact.kind != _NOT_TRIED]
    lost = [worker for worker, _ in tried if _was_left(worker)]
    if not unseen:
        return None
    if not tried:
        return NotProven(reason=f"TensorFlow was not started: {unseen[0][1].headline}")
    if lost:
        return NotProven(reason=f"another worker ended before {lost[0].name} had a result")
    worker, fact = tried[0]
    if fact.kind == _NO_STRATEGY and "MultiWorkerMirroredStrategy" in fact.message:
        return NotProven(reason="this release has no MultiWorkerMirroredStrategy")
    return failure(problem=f"{problem}: {worker.name}: {fact.summary}", remedy=_remedy(worker, fact))


def _was_left(worker: WorkerFacts) -> bool:
    """Return True if another worker ended, without a word, while this one was at work."""
    return any(peer.left is not None and peer.bye is None for peer in worker.peers)


def _remedy(worker: WorkerFacts, fact: Unseen) -> str:
    if _uses_proxy(worker):
        return (
            f"gRPC sends its connections to the proxy of {', '.join(worker.identity.proxies)}: add the hosts of the "
            "workers to no_proxy, or unset it for the job"
        )
    if fact.kind in _STOPPED:
        return f"raise the limit for TensorFlow (--limit SECONDS); if it hangs again, see the log in {worker.origin}"
    return f"`envbuilder diagnose` explains the log in {worker.origin}"


def _uses_proxy(worker: WorkerFacts) -> bool:
    """Return True if gRPC sends a connection to another worker to a proxy."""
    exempt = tuple(name.strip().lstrip(".") for name in worker.identity.exempt.split(",") if name.strip())
    hosts = (peer.address.rpartition(":")[0] for peer in worker.peers)
    return bool(worker.identity.proxies) and any(not host.endswith(exempt) for host in hosts)


def _difference(together: Fact[Trained], alone: Fact[Trained]) -> float:
    """Return the largest difference as a share of the largest weight; infinite for other than finite numbers."""
    found, wanted = _weights(together), _weights(alone)
    if not wanted or len(found) != len(wanted):
        return float("inf")
    largest = max(map(abs, wanted))
    return max(abs(one - other) for one, other in zip(found, wanted, strict=True)) / (largest or 1.0)


def _weights(fact: Fact[Trained]) -> Sequence[float]:
    values = fact.value.values if isinstance(fact, Seen) else ()
    finite = [value for value in values if value is not None]
    return finite if len(finite) == len(values) else ()


def device_kinds(gathered: Gathered) -> tuple[str, ...]:
    """Return the kinds of devices that the workers trained on, such as `CPU`, sorted."""
    formed = [worker.strategy.value for worker in gathered.workers if isinstance(worker.strategy, Seen)]
    return tuple(sorted({_kind(device) for each in formed for device in each.devices}))


def _kind(device: str) -> str:
    """Return the kind of a device: `GPU` for `/job:worker/replica:0/task:0/device:GPU:0`."""
    return device.rpartition("device:")[2].partition(":")[0] or device


def sums_of(gathered: Gathered) -> AllReduces | None:
    """Return the all-reduce of the slowest worker, by its largest array; None without one."""
    found = [worker.all_reduce.value for worker in gathered.workers if isinstance(worker.all_reduce, Seen)]
    timed = [each for each in found if each.sizes and each.sizes[-1].seconds]
    return max(timed, key=lambda each: min(each.sizes[-1].seconds), default=None)
