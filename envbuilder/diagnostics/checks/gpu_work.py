"""Checks of work on GPUs: the first kernel, training, speed, and several together."""

from __future__ import annotations

from envbuilder.catalog.expectation import Expectation
from envbuilder.core.units import size
from envbuilder.diagnostics.checks.each_gpu import NO_GPU, elsewhere, judge_each, not_there, part
from envbuilder.diagnostics.checks.gpu_numbers import LIBRARIES, worst
from envbuilder.diagnostics.checks.results import NotProven, Outcome, Passed, failure
from envbuilder.diagnostics.facts.facts import Facts, Unseen
from envbuilder.diagnostics.facts.gpu import AllReduce, Course, FirstKernel, Latency, Rate, Replica

START = (
    "a timeout can be the driver that compiles code: see check gpu-architecture-covered, and give it more time; else"
    " see the checks of the driver"
)
TOGETHER = (
    "set NCCL_DEBUG=INFO and run it again; give the container shared memory (`docker run --shm-size 1g`), and look at"
    " `nvidia-smi topo -m` on the host"
)


def gpu_first_kernel(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Check that the first kernel runs on each GPU; the report states the time of it and of the second one."""

    def problem(asked: str, work: FirstKernel) -> str:  # noqa: ARG001 - one signature
        return elsewhere(work.where)

    def seen(work: FirstKernel) -> str:
        return f"first {work.first:.2f} s, second {work.second:.4f} s"

    return judge_each(facts, facts.tier.first, problem, seen, START)


def gpu_training_loss_falls(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Check that the loss of a training with its variables on the GPU falls, on each GPU."""

    def problem(asked: str, work: Course) -> str:  # noqa: ARG001 - one signature
        if away := elsewhere(work.where):
            return away
        if work.first is None or work.last is None:
            return "a loss is not a finite number"
        return "" if work.last < work.first else f"the loss went from {work.first:.4g} to {work.last:.4g}"

    def seen(work: Course) -> str:
        return f"{work.first:.4g} to {work.last:.4g} in {work.steps} steps"

    return judge_each(facts, facts.tier.training, problem, seen, LIBRARIES)


def gpu_latency(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Measure the time of a tiny operation; any figure measured on the GPU passes."""

    def problem(asked: str, work: Latency) -> str:  # noqa: ARG001 - one signature
        return elsewhere(work.where) or ("" if work.median and work.p99 else "there is no figure")

    def seen(work: Latency) -> str:
        return f"median {work.median:.0f} us, p99 {work.p99:.0f} us of {work.samples}"

    return judge_each(facts, facts.tier.latency, problem, seen, START)


def gpu_throughput(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Measure the speed of large matrix products; any figure measured on the GPU passes."""

    def problem(asked: str, work: Rate) -> str:  # noqa: ARG001 - one signature
        return elsewhere(work.where) or ("" if work.best and work.median else "there is no figure")

    def seen(work: Rate) -> str:
        return f"best {work.best:.1f}, median {work.median:.1f} TFLOP/s"

    single = judge_each(facts, part(facts.tier.throughput, lambda work: work.single), problem, seen, LIBRARIES)
    half = judge_each(facts, part(facts.tier.throughput, lambda work: work.half), problem, seen, LIBRARIES)
    if isinstance(single, Passed) and isinstance(half, Passed):
        return Passed(seen=f"float32 {single.seen}; float16 {half.seen}")
    return worst([single, half])


def one_gpu(facts: Facts) -> str:
    """Return the reason why a sum over several GPUs does not apply; empty if there are several, or it is unknown."""
    fact = facts.tier.all_reduce
    if isinstance(fact, Unseen) or fact.value.devices != 1:
        return ""
    return "that several GPUs work together (NCCL): there is one"


def gpu_all_reduce(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Check that a sum over all GPUs is correct on each of them."""
    fact = facts.tier.all_reduce
    if isinstance(fact, Unseen):
        return not_there(facts, fact, TOGETHER)
    seen = fact.value
    if seen.devices < 2:
        return NotProven(reason=NO_GPU if seen.devices == 0 else "there is one GPU: nothing to sum over several")
    wrong = [problem for replica in seen.replicas if (problem := _replica(replica, seen.expected))]
    if wrong or len(seen.replicas) != seen.devices:
        missing = f"{len(seen.replicas)} of {seen.devices} GPUs gave a result"
        return failure(problem=f"{'; '.join(wrong) or missing} ({_shared(seen)})", remedy=TOGETHER)
    return Passed(seen=f"{seen.devices} GPUs, {seen.how}, {_shared(seen)}")


def _replica(replica: Replica, expected: float | None) -> str:
    if away := elsewhere(replica.where):
        return f"{replica.asked}: {away}"
    if replica.least == replica.largest == expected and expected is not None:
        return ""
    return f"{replica.asked} has {replica.least} to {replica.largest} instead of {expected}"


def _shared(seen: AllReduce) -> str:
    return "no shared memory" if seen.shm is None else f"{size(seen.shm)} of shared memory"
