"""Checks of the use of GPU memory by TensorFlow."""

from __future__ import annotations

from envbuilder.catalog.expectation import Expectation
from envbuilder.core.units import size
from envbuilder.diagnostics.checks.each_gpu import judge_each
from envbuilder.diagnostics.checks.gpu_numbers import worst
from envbuilder.diagnostics.checks.results import Outcome, Passed
from envbuilder.diagnostics.facts.facts import Facts
from envbuilder.diagnostics.facts.gpu import Memory, MemoryLimit

MIB = 2**20
REMEDY = (
    "look at `nvidia-smi` on the host for other processes in the GPU's memory; `TF_GPU_ALLOCATOR=cuda_malloc_async`"
    " (TensorFlow 2.6 and later, driver for CUDA 11.2) uses another allocator"
)


def gpu_memory_policy(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Check that TensorFlow with growth allocates as requested, up to nearly all memory, and that a limit holds."""
    grown = judge_each(facts, facts.tier.memory, _growth, _held, REMEDY)
    limited = judge_each(facts, facts.tier.limited, _limit, _limited, REMEDY)
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
    return judge_each(facts, facts.tier.memory, _recovery, _recovered, REMEDY)


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
