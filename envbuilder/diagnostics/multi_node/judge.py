"""The facts of several workers to a report: the first cause is a failure, what follows from it is not proven."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from envbuilder.core.observation import Seen
from envbuilder.core.units import size
from envbuilder.diagnostics.checks.results import (
    CheckResult,
    Failed,
    Figure,
    NotProven,
    Outcome,
    Report,
    Tier,
    outcome_of,
)
from envbuilder.diagnostics.multi_node import network_checks, result_checks
from envbuilder.diagnostics.multi_node.facts import Gathered

Examine: TypeAlias = Callable[[Gathered], Outcome]
_MIB = float(1 << 20)
_SMALL = 1 << 16
"""Bytes below which an all-reduce takes the time of its messages, not of its data."""

NOT_COVERED = (
    "that a single worker is sound: tiers cpu and gpu look at that",
    "that larger jobs, other machines and longer trainings work",
    "that the bandwidth is what the network can do",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiNodeCheck:
    """One check of several workers.

    Attributes:
        id: Stable kebab-case id.
        examine: Judges the facts; pure.
    """

    id: str
    title: str
    group: str
    examine: Examine


def _group(heading: str, *checks: tuple[str, str, Examine]) -> Iterator[MultiNodeCheck]:
    for name, title, examine in checks:
        yield MultiNodeCheck(id=name, title=title, group=heading, examine=examine)


CHECKS = (
    *_group(
        "Workers",
        ("workers-reported", "every worker reported", network_checks.workers_reported),
        ("same-cluster", "all have the same list of workers", network_checks.same_cluster),
        ("versions-equal", "all have the same TensorFlow", network_checks.versions_equal),
    ),
    *_group(
        "Network",
        ("names-resolve", "every name resolves", network_checks.names_resolve),
        ("ports-free", "every port is free", network_checks.ports_free),
        ("workers-connect", "every worker reaches every other", network_checks.workers_connect),
        ("addresses-belong", "each address leads to its worker", network_checks.addresses_belong),
        ("separate-networks", "the workers have networks of their own", network_checks.separate_networks),
    ),
    *_group(
        "TensorFlow",
        ("cluster-forms", "TensorFlow forms the cluster", result_checks.cluster_forms),
        ("all-reduce-exact", "sums over all workers are exact", result_checks.all_reduce_exact),
        (
            "training-equals-one-worker",
            "training gives the weights of one worker",
            result_checks.training_equals_one_worker,
        ),
        ("weights-equal", "all workers have the same weights", result_checks.weights_equal),
    ),
)
"""In the order of a report, which is that of causes."""

_CAUSES = {
    **dict.fromkeys(("names-resolve", "workers-connect", "addresses-belong"), ("same-cluster",)),
    **dict.fromkeys(
        ("cluster-forms", "all-reduce-exact", "training-equals-one-worker", "weights-equal"),
        (
            "workers-reported",
            "same-cluster",
            "versions-equal",
            "names-resolve",
            "ports-free",
            "workers-connect",
            "addresses-belong",
            "cluster-forms",
            "all-reduce-exact",
        ),
    ),
}
"""Checks of which the failure of a check may be a consequence."""


def judge(gathered: Gathered, *, subject: str, environment: str, require: bool, seconds: float) -> Report:
    """Check the facts of several workers; with `require`, a check that is not proven fails the report."""
    return Report(
        subject=subject,
        environment=environment,
        tier=Tier.MULTI_NODE,
        required=Tier.MULTI_NODE if require else None,
        results=tuple(_results(gathered)),
        facts=tuple(_lines(gathered)),
        deviations=(),
        not_covered=tuple(_not_covered(gathered)),
        seconds=seconds,
        figures=tuple(_figures(gathered)),
    )


def _results(gathered: Gathered) -> Iterator[CheckResult]:
    failed: list[str] = []
    for check in CHECKS:
        outcome = check.examine(gathered)
        if isinstance(outcome, Failed):
            cause = next((name for name in failed if name in _CAUSES.get(check.id, ())), "")
            outcome = NotProven(reason=f"{cause} failed before") if cause else outcome
            failed.append(check.id)
        yield CheckResult(
            id=check.id,
            title=check.title,
            outcome=outcome_of(check.id, outcome),
            tiers=(Tier.MULTI_NODE,),
            group=check.group,
        )


def _not_covered(gathered: Gathered) -> Iterator[str]:
    if "GPU" not in result_checks.device_kinds(gathered):
        yield "that GPUs reduce over NCCL: the workers had none"
    yield from NOT_COVERED


def _lines(gathered: Gathered) -> Iterator[tuple[str, str]]:
    for worker in gathered.workers:
        identity = worker.identity
        software = f"TensorFlow {identity.tensorflow or 'unknown'}, Python {identity.python}"
        yield f"worker {worker.index}", f"{worker.workers[worker.index]}, host {identity.host}, {software}"
    times = [each.training.value.seconds for each in gathered.workers if isinstance(each.training, Seen)]
    if times and len(times[0]) > 1:
        yield "training step", f"{statistics.median(times[0][1:]) * 1000:.1f} ms (median), {len(times[0])} steps"


def _figures(gathered: Gathered) -> Iterator[Figure]:
    """Yield the median time of a small all-reduce, and the rates of large ones, for the slowest worker.

    The rate is the bus bandwidth: each of n replicas sends and receives 2 (n - 1) / n of the array.
    Source: https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md
    """
    found = result_checks.sums_of(gathered)
    replicas = sum(found.replicas) if found else 0
    for each in found.sizes if found and replicas > 1 else ():
        times = sorted(time for time in each.seconds if time > 0)
        if not times:
            continue
        median = statistics.median(times)
        if each.bytes < _SMALL:
            yield Figure(name=size(each.bytes), value=median, unit="s", low=times[0], high=times[-1], group=_LATENCY)
            continue
        rates = [each.bytes * 2 * (replicas - 1) / replicas / time / _MIB for time in (median, times[-1], times[0])]
        yield Figure(name=size(each.bytes), value=rates[0], unit="MiB/s", low=rates[1], high=rates[2], group=_BANDWIDTH)


_LATENCY = "Time of a small all-reduce"
_BANDWIDTH = "Bandwidth of the all-reduce"
