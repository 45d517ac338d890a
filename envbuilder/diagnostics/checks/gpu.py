"""Checks that need a GPU. None of them can pass without one."""

from __future__ import annotations

from collections.abc import Callable

from envbuilder.catalog.expectation import CudaExpectation, Expectation
from envbuilder.catalog.verdicts import Rule
from envbuilder.diagnostics.checks.check import was_tried, without_tensorflow
from envbuilder.diagnostics.checks.driver import RUN_WITH_GPUS, compatibility, interface_of, outcome
from envbuilder.diagnostics.checks.each_gpu import NO_GPU
from envbuilder.diagnostics.checks.gpu_numbers import operation, worst
from envbuilder.diagnostics.checks.results import Failed, NotProven, Outcome, Passed, failure
from envbuilder.diagnostics.checks.tolerances import WHOLE_NUMBERS
from envbuilder.diagnostics.facts.facts import DriverInterface, Fact, Facts, GpuWork, Placed, Seen, Unseen
from envbuilder.diagnostics.facts.gpu import Compared, Operations

_CODE = frozenset({Rule.GPU_CODE, Rule.GPU_NOT_KNOWN, Rule.LAST_DRIVER, Rule.PTX_DRIVER})
"""The rules about GPU code in the wheel; the checks that compute cover CUDA and cuDNN."""


def gpu_visible_to_tensorflow(cuda: CudaExpectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Check that TensorFlow sees every GPU of the driver."""
    if isinstance(facts.devices, Unseen):
        return _no_devices(facts, facts.devices)
    driver = interface_of(facts)
    if isinstance(driver, NotProven):
        return driver
    seen, there = sum(device.type == "GPU" for device in facts.devices.value), len(driver.gpus)
    if seen == 0:
        return failure(problem=f"TensorFlow sees no GPU{_why(facts)}", remedy=_remedy(driver, facts))
    if seen < there:
        return failure(
            problem=f"TensorFlow sees {seen} of {there} GPUs",
            remedy="TensorFlow ignores GPUs with far fewer multiprocessors than the best one: set"
            " TF_MIN_GPU_MULTIPROCESSOR_COUNT, or select GPUs with CUDA_VISIBLE_DEVICES",
        )
    return Passed(seen=f"{seen} of {there}")


def _no_devices(facts: Facts, fact: Unseen) -> Outcome:
    if not was_tried(fact):
        return without_tensorflow("TensorFlow's devices", facts, fact)
    return failure(problem=f"listing devices failed with {fact.summary}", remedy=RUN_WITH_GPUS)


def _why(facts: Facts) -> str:
    lines = facts.log.value if isinstance(facts.log, Seen) else ()
    return f"; it wrote: {lines[-1]}" if lines else ""


def _remedy(driver: DriverInterface, facts: Facts) -> str:
    if not driver.gpus:
        return RUN_WITH_GPUS
    if isinstance(facts.own_check, Seen) and facts.own_check.value.missing:
        missing = ", ".join(facts.own_check.value.missing)
        return f"the driver has {len(driver.gpus)}; put {missing} on the loader path (rebuild from the lock)"
    return f"the driver has {len(driver.gpus)}; see check cuda-libraries-load, and that TensorFlow is built with CUDA"


def gpu_architecture_covered(cuda: CudaExpectation, facts: Facts) -> Outcome:
    """Check that the wheel has code for every GPU: machine code, or PTX that this driver can compile."""
    driver = interface_of(facts)
    if isinstance(driver, NotProven):
        return driver
    if not driver.gpus:
        return NotProven(reason="there is no GPU")
    unknown = [gpu for gpu in driver.gpus if gpu.capability is None]
    if unknown:
        return NotProven(reason=f"the compute capability of GPU {unknown[0].index} is unknown: {unknown[0].error}")
    reasons = [each for each in compatibility(cuda, facts) if each.rule in _CODE]
    return outcome(reasons)


def _works(facts: Facts) -> tuple[GpuWork, ...] | Failed | NotProven:
    fact = facts.gpu
    if isinstance(fact, Seen):
        return fact.value or NotProven(reason=NO_GPU)
    if not was_tried(fact):
        return without_tensorflow("work on a GPU", facts, fact)
    return failure(
        problem=f"computing on the GPU failed with {fact.summary}",
        remedy="see the checks of driver, cuDNN and GPU architecture; a timeout on first use can be the driver that"
        " compiles code: give it more time",
    )


def gpu_matmul_on_gpu(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Check that a matrix product runs on each GPU, not on the CPU, and equals numpy's."""
    works = _works(facts)
    if not isinstance(works, tuple):
        return works
    whole = _judged(tuple((work.asked, work.matmul) for work in works), "cuBLAS")
    return _and_compared(whole, facts, lambda work: work.matmul)


def gpu_convolution_on_gpu(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Check that a convolution runs on each GPU, not on the CPU, and equals numpy's."""
    works = _works(facts)
    if not isinstance(works, tuple):
        return works
    whole = _judged(tuple((work.asked, work.convolution) for work in works), "cuDNN")
    return _and_compared(whole, facts, lambda work: work.convolution)


def _and_compared(first: Outcome, facts: Facts, pick: Callable[[Operations], Fact[Compared]]) -> Outcome:
    """Return the outcome, combined with that of the comparison with the CPU if the probe made one."""
    asked = not isinstance(facts.tier.operations, Unseen) or was_tried(facts.tier.operations)
    return worst([operation(facts, pick), first]) if asked else first


def _judged(works: tuple[tuple[str, Fact[Placed]], ...], library: str) -> Outcome:
    problems = [f"{asked}: {problem}" for asked, work in works if (problem := _problem(work))]
    if problems:
        return failure(
            problem="; ".join(problems),
            remedy=f"see the checks of {library} in the image, of the driver, and of the GPU's architecture; then"
            " `nvidia-smi -q` on the host for errors of the GPU's memory",
        )
    return Passed(seen=f"on {', '.join(asked for asked, _ in works)}, equal to numpy")


def _problem(work: Fact[Placed]) -> str:
    if isinstance(work, Unseen):
        return f"{work.summary}"
    placed = work.value
    if not placed.on_device:
        return f"ran on {placed.placed or 'an unknown device'} instead"
    if placed.difference is None:
        return "returned numbers that are not finite"
    return f"differs from numpy by {placed.difference:.4g}" if placed.difference > WHOLE_NUMBERS else ""
