"""Checks of work on GPUs: the first kernel, training, speed, several together, and memory."""

from __future__ import annotations

from collections.abc import Callable

from envbuilder.catalog.expectation import Expectation
from envbuilder.core.units import size
from envbuilder.diagnostics.checks.check import no_result
from envbuilder.diagnostics.checks.each_gpu import NO_GPU, WORK, check_each, elsewhere, part
from envbuilder.diagnostics.checks.gpu_numbers import LIBRARIES, worst
from envbuilder.diagnostics.checks.results import NotProven, Outcome, Passed, failure
from envbuilder.diagnostics.facts.facts import Fact, Facts, Unseen
from envbuilder.diagnostics.facts.gpu import AllReduce, Course, Memory, MemoryLimit, Rate, Replica, Throughput

NO_FIGURE = "the probe returned no figure"
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
    return check_each(
        facts,
        facts.tier.first,
        lambda _, work: elsewhere(work.where),
        lambda work: f"first {work.first:.2f} s, second {work.second:.4f} s",
        START,
    )


def gpu_training_loss_falls(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Check that the loss of a training with its variables on the GPU falls, on each GPU."""
    return check_each(
        facts,
        facts.tier.training,
        lambda _, work: elsewhere(work.where) or _loss(work),
        lambda work: f"{work.first:.4g} to {work.last:.4g} in {work.steps} steps",
        LIBRARIES,
    )


def _loss(work: Course) -> str:
    if work.first is None or work.last is None:
        return "a loss is not a finite number"
    return "" if work.last < work.first else f"the loss went from {work.first:.4g} to {work.last:.4g}"


def gpu_latency(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Measure the time of a tiny operation; any figure measured on the GPU passes."""
    return check_each(
        facts,
        facts.tier.latency,
        lambda _, work: elsewhere(work.where) or ("" if work.median and work.p99 else NO_FIGURE),
        lambda work: f"median {work.median:.0f} us, p99 {work.p99:.0f} us of {work.samples}",
        START,
    )


def gpu_throughput(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Measure the speed of large matrix products; any figure measured on the GPU passes."""
    single = _rate(facts, lambda work: work.single)
    half = _rate(facts, lambda work: work.half)
    if isinstance(single, Passed) and isinstance(half, Passed):
        return Passed(seen=f"float32 {single.seen}; float16 {half.seen}")
    return worst([single, half])


def _rate(facts: Facts, pick: Callable[[Throughput], Fact[Rate]]) -> Outcome:
    return check_each(
        facts,
        part(facts.tier.throughput, pick),
        lambda _, work: elsewhere(work.where) or ("" if work.best and work.median else NO_FIGURE),
        lambda work: f"best {work.best:.1f}, median {work.median:.1f} TFLOP/s",
        LIBRARIES,
    )


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
        return no_result(facts, fact, WORK, "it", TOGETHER)
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


_ALLOCATION = (
    "look at `nvidia-smi` on the host for other processes in the GPU's memory; `TF_GPU_ALLOCATOR=cuda_malloc_async`"
    " (TensorFlow 2.6 and later, driver for CUDA 11.2) uses another allocator"
)


def gpu_memory_policy(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Check that TensorFlow with growth allocates as requested, up to nearly all memory, and that a limit holds."""
    grown = check_each(facts, facts.tier.memory, _growth, _held, _ALLOCATION)
    limited = check_each(facts, facts.tier.limited, _limit, _limited, _ALLOCATION)
    if isinstance(grown, Passed) and isinstance(limited, Passed):
        return Passed(seen=f"{grown.seen}; {limited.seen}")
    return worst([grown, limited])


def _growth(asked: str, work: Memory) -> str:  # noqa: ARG001 - one signature
    if work.held_at_start > work.free // 2:
        return f"{size(work.held_at_start)} of {size(work.free)} are allocated at start, although the policy is growth"
    if work.held_grown < work.block:
        return f"{size(work.held_grown)} are held with a block of {size(work.block)}"
    return "" if work.large.given else f"one block of {size(work.large.size)} was refused: {work.large.error}"


def _held(work: Memory) -> str:
    return (
        f"{size(work.held_at_start)} held at the start, {size(work.held_grown)} with a block of {size(work.block)},"
        f" one of {size(work.large.size)} given"
    )


def _limit(asked: str, work: MemoryLimit) -> str:  # noqa: ARG001 - one signature
    if work.beyond.given:
        return f"{size(work.beyond.size)} were given beyond a limit of {size(work.limit)}"
    return "" if work.small.given else f"{size(work.small.size)} were refused below a limit of {size(work.limit)}"


def _limited(work: MemoryLimit) -> str:
    return f"a limit of {size(work.limit)} holds"


def gpu_memory_recovers(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Check that the GPU works with correct numbers after a caught refusal, and in fragmented memory."""
    return check_each(facts, facts.tier.memory, _recovery, _recovered, _ALLOCATION)


def _recovery(asked: str, work: Memory) -> str:  # noqa: ARG001 - one signature
    if work.impossible.given:
        return f"{size(work.impossible.size)} were given, more than the GPU has"
    if not work.after.given:
        return f"{size(work.after.size)} are refused after a refusal: {work.after.error}"
    if not work.fragmented.given:
        return f"{size(work.fragmented.size)} are refused in fragmented memory: {work.fragmented.error}"
    return "" if work.right_after else "a matrix product is wrong after a refusal"


def _recovered(work: Memory) -> str:
    return f"{size(work.impossible.size)} refused, {size(work.after.size)} given after it"
