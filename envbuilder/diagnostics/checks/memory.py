"""Checks of the memory policy of a lock inside TensorFlow."""

from __future__ import annotations

from envbuilder.catalog.expectation import Expectation
from envbuilder.core.image_layout import HOOK_FILE, VENV
from envbuilder.core.memory_policy import VARIABLE, MemoryPolicy, Way, parse
from envbuilder.diagnostics.checks.check import not_seen, without_tensorflow
from envbuilder.diagnostics.checks.results import NotProven, Outcome, Passed, failure
from envbuilder.diagnostics.facts.facts import Facts, Gpu, Unseen
from envbuilder.diagnostics.facts.gpu import MemoryFacts, ReceivedMemory

_MIB = 1 << 20
_CLOSE = 1e-6
_REMEDY = f"start the program by /{VENV}/bin/python with the image's environment, and see docs/memory.md; {VARIABLE}"
_REBUILD = f"build the image again from its lock; a line in site-packages and /{HOOK_FILE} belong to it"


def has_policy(expectation: Expectation) -> bool:
    """Return True if the lock contains the hook."""
    return expectation.memory is not None


def memory_policy_applied(expectation: Expectation, facts: Facts) -> Outcome:
    """Check that the policy in force is the lock's, and that TensorFlow's configuration has it."""
    policy, fact = expectation.memory, facts.memory
    if policy is None:
        return NotProven(reason="the lock was created by a version without the memory hook")
    if isinstance(fact, Unseen):
        return without_tensorflow("the memory policy", facts, fact)
    return _outcome(policy, fact.value, facts)


def _outcome(policy: MemoryPolicy, seen: MemoryFacts, facts: Facts) -> Outcome:
    if _in_force(seen.variable) != policy:
        description = f"{VARIABLE} is {seen.variable!r}, and the policy is {policy}"
        return failure(problem=description, remedy=f"{_REMEDY} overrides the lock")
    if policy.is_default:
        return Passed(seen="all: TensorFlow's default")
    if not seen.hook or seen.received is None:
        return failure(problem=f"the hook for {policy} did not run before TensorFlow", remedy=_REBUILD)
    if policy.is_async:
        return _allocator(seen)
    return _received(policy, seen.received, facts)


def _in_force(text: str) -> MemoryPolicy | None:
    try:
        return parse(text or "all")
    except ValueError:
        return None


def _allocator(seen: MemoryFacts) -> Outcome:
    if seen.allocator != "cuda_malloc_async":
        problem = f"TF_GPU_ALLOCATOR is {seen.allocator!r} and not cuda_malloc_async"
        return failure(problem=problem, remedy="unset TF_GPU_ALLOCATOR")
    return Passed(seen="async-allocator: TF_GPU_ALLOCATOR=cuda_malloc_async")


def _received(policy: MemoryPolicy, received: ReceivedMemory, facts: Facts) -> Outcome:
    grows = any(gpu.way is Way.GROWTH for gpu in policy.gpus)
    if received.growth != grows:
        problem = f"TensorFlow was told allow_growth={received.growth}, and the policy is {policy}"
        return failure(problem=problem, remedy=_REBUILD)
    first = policy.gpus[0]
    if len(policy.gpus) == 1 and first.way is not Way.LIMIT:
        close = abs(received.fraction - float(first.share)) < _CLOSE
        return _passed(policy, received) if close else _wrong(policy, received)
    return _for_each(policy, received, facts)


def _for_each(policy: MemoryPolicy, received: ReceivedMemory, facts: Facts) -> Outcome:
    """Check a limit or a list, whose form depends on the GPUs that TensorFlow sees."""
    if received.limits:
        return _limits(policy, received, facts)
    if received.fraction:
        return _share(policy, received, facts)
    if received.gpus:
        return _wrong(policy, received)
    return NotProven(reason=f"TensorFlow sees no GPU here, and {policy} is set for each GPU")


def _limits(policy: MemoryPolicy, received: ReceivedMemory, facts: Facts) -> Outcome:
    """Check that each GPU has the limit of the policy."""
    gpus = facts.driver_gpus
    for index, limit in enumerate(received.limits):
        expected = _expected(policy, index, gpus)
        if expected is None:
            return NotProven(reason=f"the driver does not report the memory size of GPU {index}")
        if limit != expected:
            return _wrong(policy, received)
    return _passed(policy, received)


def _expected(policy: MemoryPolicy, index: int, gpus: tuple[Gpu, ...]) -> int | None:
    """Return the MiB for one GPU, 0 without a limit; None if unknown."""
    if len(policy.gpus) > 1 and index >= len(policy.gpus):
        return -1
    gpu = policy.gpus[index if len(policy.gpus) > 1 else 0]
    if gpu.way is not Way.FRACTION:
        return gpu.limit // _MIB
    memory = gpus[index].memory if index < len(gpus) else None
    return int(float(gpu.share) * memory) // _MIB if memory else None


def _share(policy: MemoryPolicy, received: ReceivedMemory, facts: Facts) -> Outcome:
    """Check the one share for all GPUs of a release without a limit for each GPU: that of the largest GPU."""
    gpus = facts.driver_gpus
    if not gpus:
        return not_seen("the memory of the GPUs", Unseen(kind="NotReached", message="not reported by the driver"))
    shares = []
    for index, gpu in enumerate(gpus):
        expected = _expected(policy, index, gpus)
        if expected is None or not gpu.memory:
            return NotProven(reason=f"the driver does not report the memory size of GPU {index}")
        shares.append(expected * _MIB / gpu.memory if expected > 0 else 1.0)
    # A limit is written in whole MiB here and in bytes there.
    near = abs(received.fraction - min(shares)) * max(gpu.memory or 0 for gpu in gpus) <= _MIB
    return _passed(policy, received) if near else _wrong(policy, received)


def _shown(received: ReceivedMemory) -> str:
    limits = f", limits in MiB {', '.join(map(str, received.limits))}" if received.limits else ""
    return f"allow_growth={received.growth}, fraction {received.fraction:g}{limits}"


def _passed(policy: MemoryPolicy, received: ReceivedMemory) -> Outcome:
    return Passed(seen=f"{policy}: {_shown(received)}")


def _wrong(policy: MemoryPolicy, received: ReceivedMemory) -> Outcome:
    return failure(problem=f"TensorFlow received {_shown(received)}, but the policy is {policy}", remedy=_REBUILD)
