"""Reasons from the target machines: the compatibility verdict, in the terms of `advise`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from envbuilder.catalog.advise.advice import AdviceReason, Change, Query, Topic, Weight
from envbuilder.catalog.advise.candidates import Candidate
from envbuilder.catalog.compatibility import judge
from envbuilder.catalog.coverage import GpuSupport
from envbuilder.catalog.cuda import Coverage, CudaFacts
from envbuilder.catalog.driver_requirements import need_of
from envbuilder.catalog.machine import Host
from envbuilder.catalog.reasons import on
from envbuilder.catalog.verdicts import Aspect, Compatibility, Fit, Reason, Rule, worst
from envbuilder.core.versions import Release

_TOPICS = {
    Aspect.PROCESSOR: Topic.PROCESSOR,
    Aspect.KIND: Topic.KIND,
    Aspect.GPU: Topic.GPU,
    Aspect.DRIVER: Topic.DRIVER,
}
_PRICES = {
    Rule.NO_GPU: 9,
    Rule.GPU_CODE: 3,
    Rule.FORWARD_COMPATIBILITY: 2,
    Rule.IMAGE_DRIVER_GATE: 1,
    Rule.OTHER_GPU: 1,
    # The absence of a known trap is no advantage: the environment may not have been examined.
    Rule.KNOWN_TRAP: 0,
}
"""Relative cost of each caveat; the order matters, the unit does not. A doubt costs nothing by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareView:
    """Assessment of a candidate for all machines.

    Attributes:
        reasons: One for each comparison.
        verdicts: One for each machine.
        driver: Oldest driver for all GPUs; None for a CPU environment, or if it is unknown.
    """

    reasons: tuple[AdviceReason, ...]
    verdicts: tuple[Compatibility, ...]
    driver: Release | None

    @property
    def supports(self) -> tuple[GpuSupport, ...]:
        """Support for each kind of GPU."""
        return tuple(kind.support for verdict in self.verdicts for kind in verdict.gpus if kind.support is not None)

    @property
    def coverage(self) -> Coverage | None:
        """Lowest coverage of all GPUs; None without GPUs."""
        order = (Coverage.NONE, Coverage.JIT, Coverage.MACHINE_CODE)
        return min((support.coverage for support in self.supports), key=order.index, default=None)

    @property
    def fit(self) -> Fit | None:
        """Worst verdict of all machines; None without machines."""
        return worst(verdict.fit for verdict in self.verdicts) if self.verdicts else None


def view(facts: CudaFacts, query: Query, candidate: Candidate) -> HardwareView:
    """Judge a candidate on all machines."""
    # A single machine need not be named in every sentence.
    hosts = query.hosts if len(query.hosts) > 1 else tuple(replace(host, name="") for host in query.hosts)
    verdicts = tuple(judge(facts, candidate.row, candidate.choice, host) for host in hosts)
    reasons = [
        reason
        for host, verdict in zip(hosts, verdicts, strict=True)
        for reason in (*_kind(query, host, candidate), *map(_reason, _compared(verdict)))
    ]
    if not hosts and candidate.row.cuda is None and not query.cpu:
        reasons.append(AdviceReason(topic=Topic.KIND, weight=Weight.COST, text="it does not use a GPU", price=9))
    return HardwareView(
        reasons=tuple(dict.fromkeys(reasons)), verdicts=verdicts, driver=_driver(facts, candidate, verdicts)
    )


def _driver(facts: CudaFacts, candidate: Candidate, verdicts: tuple[Compatibility, ...]) -> Release | None:
    if candidate.row.cuda is None or candidate.choice.cuda is None:
        return None
    needs = [need_of(facts, candidate.choice.cuda, ()), *(each.driver for each in verdicts if each.driver is not None)]
    return max(need.least for need in needs) if all(need.known for need in needs) else None


def _compared(verdict: Compatibility) -> tuple[Reason, ...]:
    return tuple(reason for reason in verdict.reasons if reason.rule is not Rule.CPU_BUILD)


def _kind(query: Query, host: Host, candidate: Candidate) -> Iterator[AdviceReason]:
    """Yield the consequences of a CPU environment for a machine with or without a GPU."""
    if candidate.row.cuda is not None:
        return
    if query.cpu or host.gpus == ():
        yield AdviceReason(topic=Topic.KIND, weight=Weight.FOR, text=f"it needs neither GPU nor driver{on(host)}")
    elif host.gpus:
        yield AdviceReason(
            topic=Topic.KIND,
            weight=Weight.AGAINST,
            text=f"it does not use a GPU, although GPUs are available{on(host)}",
            asked="GPU",
            has="CPU",
            change=Change(topic=Topic.KIND, text="run on the CPU only"),
        )
    else:
        yield AdviceReason(topic=Topic.KIND, weight=Weight.COST, text="it does not use a GPU", price=9)


def _reason(judged: Reason) -> AdviceReason:
    topic = _TOPICS[judged.aspect]
    return AdviceReason(
        topic=topic,
        weight=_weight(judged),
        text=judged.text,
        asked=judged.asked,
        has=judged.has,
        sources=judged.sources,
        change=Change(topic=topic, text=judged.change) if judged.fit is Fit.NO else None,
        price=0 if judged.fit is Fit.UNKNOWN else _PRICES.get(judged.rule, 1),
        is_doubt=judged.fit is Fit.UNKNOWN,
    )


def _weight(judged: Reason) -> Weight:
    if judged.fit is Fit.NO:
        return Weight.AGAINST
    return Weight.FOR if judged.fit is Fit.FITS and not judged.is_caveat else Weight.COST
