"""Checks before TensorFlow: which workers reported, and which name, port, route or version is wrong.

What concerns a worker that did not report counts there, and a port that was not free is not a network fault as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from envbuilder.core.observation import Seen, Unseen
from envbuilder.diagnostics.checks.results import Failed, NotProven, Outcome, Passed, failure
from envbuilder.diagnostics.multi_node.facts import Gathered, PeerFacts, ReachError, Step, WorkerFacts

PORT_TAKEN = "PortTaken"

_UNREACHABLE = {
    "ECONNREFUSED": (
        "the host answers, and nothing listens on this port of it",
        "check that the address is the one of that worker, and that no firewall rejects the port",
    ),
    "ETIMEDOUT": (
        "no answer: the host is down, or packets to this port are dropped",
        "open the port between the workers: firewall, security group, NetworkPolicy",
    ),
    "EHOSTUNREACH": (
        "there is no route to the host",
        "use an address of a network that all workers share; a firewall that rejects packets gives the same error",
    ),
    "ENETUNREACH": ("there is no route to its network", "use an address of a network that all workers share"),
}
_OTHERWISE = ("the connection failed", "check the network between the two machines")


def workers_reported(gathered: Gathered) -> Outcome:
    """Check that every worker started, and ran until it had written its facts."""
    problems = [_absence(gathered, index) for index in gathered.missing]
    if not problems:
        return Passed(seen=f"{len(gathered.workers)} workers")
    ended = any(ended for _, ended in problems)
    remedy = (
        "look at the end of its log, and in the log of its kernel for the OOM killer; `sacct -j JOB`, "
        "`kubectl describe pod POD`"
        if ended
        else "check that the scheduler started it (`squeue`, `kubectl get pods`); wait longer for it: --wait SECONDS"
    )
    return failure(problem="; ".join(text for text, _ in problems), remedy=remedy)


def _absence(gathered: Gathered, index: int) -> tuple[str, bool]:
    """Return the observations of the others about a worker without facts, and whether it was reached."""
    name = f"worker {index} ({gathered.addresses[index]})"
    seen = gathered.seen_by_others(index)
    ends = [peer.left for _, peer in seen if peer.left is not None]
    if ends:
        return f"{name} ended {min(ends):.1f} s after the start, without facts", True
    if any(peer.connected is not None or peer.heard is not None for _, peer in seen):
        return f"{name} was reached, but wrote no facts", True
    errors = dict.fromkeys(_described(peer.error) for _, peer in seen if peer.error)
    return f"{name} was never reached" + (f": {'; '.join(errors)}" if errors else ""), False


def same_cluster(gathered: Gathered) -> Outcome:
    """Check that all workers have the same list of workers."""
    lists: dict[tuple[str, ...], list[int]] = {}
    for worker in gathered.workers:
        lists.setdefault(worker.workers, []).append(worker.index)
        for peer in worker.peers:
            if peer.index in gathered.missing and peer.hello and peer.hello.workers:
                lists.setdefault(peer.hello.workers, []).append(peer.index)
    if len(lists) == 1:
        return Passed(seen=", ".join(gathered.addresses))
    description = "; ".join(f"worker {indexes[0]} has {', '.join(workers)}" for workers, indexes in lists.items())
    return failure(
        problem=f"the workers have different lists of workers: {description}",
        remedy="give every worker the same TF_CONFIG, except for its own task",
    )


def names_resolve(gathered: Gathered) -> Outcome:
    """Check that each worker resolves the name of each other."""
    found = tuple(_errors(gathered, Step.NAME))
    if found:
        return failure(
            problem=_describe_errors(found),
            remedy="use names that every worker resolves (`getent hosts NAME` there), or addresses; Kubernetes: the "
            "names of a headless Service with publishNotReadyAddresses",
        )
    return _reached(gathered, Step.CONNECT, "every name resolves")


def ports_free(gathered: Gathered) -> Outcome:
    """Check that each worker could listen on its port."""
    taken = [(worker, worker.port) for worker in gathered.workers if isinstance(worker.port, Unseen)]
    if not taken:
        ports = sorted({worker.port.value for worker in gathered.workers if isinstance(worker.port, Seen)})
        return Passed(seen=", ".join(map(str, ports)))
    is_taken = all(fact.kind == PORT_TAKEN for _, fact in taken)
    return failure(
        problem="; ".join(f"{worker.name} cannot listen on its port: {fact.headline}" for worker, fact in taken),
        remedy="end the program that listens there (`ss -ltnp`), often a worker of an earlier run, or use another port"
        if is_taken
        else "use a port above 1023",
    )


def workers_connect(gathered: Gathered) -> Outcome:
    """Check that each worker connects to the port of each other."""
    found = tuple(_errors(gathered, Step.CONNECT))
    if found:
        _, remedy = _UNREACHABLE.get(found[0][1].type, _OTHERWISE)
        return failure(problem=_describe_errors(found), remedy=remedy)
    return _reached(gathered, Step.HELLO, "every worker reaches every other")


def addresses_belong(gathered: Gathered) -> Outcome:
    """Check that the worker with the right number answers at each address."""
    found = tuple(_errors(gathered, Step.HELLO))
    if found:
        return failure(
            problem=_describe_errors(found),
            remedy="give each worker its own number, and each number the address of its worker",
        )
    return _reached(gathered, None, "each address is answered by its worker")


def versions_equal(gathered: Gathered) -> Outcome:
    """Check that all workers have the same TensorFlow."""
    versions = {worker.index: worker.identity.tensorflow for worker in gathered.workers}
    for worker in gathered.workers:
        for peer in worker.peers:
            if peer.hello and peer.hello.index == peer.index:
                versions.setdefault(peer.index, peer.hello.tensorflow or "")
    known = {version for version in versions.values() if version}
    if len(known) > 1:
        description = ", ".join(
            f"worker {index} has {versions[index] or 'an unknown one'}" for index in sorted(versions)
        )
        return failure(
            problem=f"the workers have different releases of TensorFlow: {description}",
            remedy="run the same image everywhere, by its digest: releases do not understand each other's messages",
        )
    if len(versions) < 2 or not all(versions.values()):
        return NotProven(reason="the TensorFlow of a worker is unknown")
    return Passed(seen=known.pop())


def separate_networks(gathered: Gathered) -> Outcome:
    """Check that the workers had separate network namespaces, so that a network was tested."""
    networks = {worker.identity.network for worker in gathered.workers}
    if len(gathered.workers) < 2:
        return NotProven(reason="only one worker reported")
    if len(networks) == 1:
        return NotProven(reason="all workers ran in one network namespace: no network between them was tested")
    return Passed(seen=f"{len(networks)} networks")


def _errors(gathered: Gathered, step: Step) -> Iterator[tuple[str, ReachError]]:
    """Yield the failed attempts at one step towards workers that reported and listened."""
    for worker in gathered.workers:
        for peer in worker.peers:
            if peer.connected is None and peer.error and peer.error.step is step and _counts(gathered, worker, peer):
                place = f"{worker.name} to worker {peer.index} at {_place(peer)}"
                yield place, peer.error


def _counts(gathered: Gathered, worker: WorkerFacts, peer: PeerFacts) -> bool:
    """Return True unless the other worker did not report, or one of the two had no port."""
    others = [other for other in gathered.workers if other.index == peer.index]
    return bool(others) and all(isinstance(each.port, Seen) for each in (worker, *others))


def _place(peer: PeerFacts) -> str:
    known = ", ".join(peer.addresses)
    return f"{peer.address} ({known})" if known and known not in peer.address else peer.address


def _described(error: ReachError) -> str:
    meaning = f" ({_UNREACHABLE[error.type][0]})" if error.type in _UNREACHABLE else ""
    return f"{error.type}: {error.message}{meaning}"


def _describe_errors(found: tuple[tuple[str, ReachError], ...]) -> str:
    return "; ".join(f"{place}: {_described(error)}" for place, error in found)


_DONE = {Step.NAME: 0, Step.CONNECT: 1, Step.HELLO: 2}


def _reached(gathered: Gathered, least: Step | None, seen: str) -> Passed | NotProven | Failed:
    """Return `Passed` if every attempt came to a step, or to its end for None; otherwise the reason why not."""
    needed = len(_DONE) if least is None else _DONE[least]
    for worker in gathered.workers:
        for peer in worker.peers:
            done = len(_DONE) if peer.connected is not None else _DONE[peer.error.step] if peer.error else -1
            if done < needed:
                return NotProven(reason=f"{worker.name} did not reach worker {peer.index}")
    return Passed(seen=seen)
