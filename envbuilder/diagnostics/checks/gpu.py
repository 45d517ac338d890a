"""Checks that need a GPU. None of them can pass without one."""

from __future__ import annotations

from collections.abc import Callable

from envbuilder.catalog.expectation import CudaExpectation, Expectation
from envbuilder.catalog.verdicts import Rule
from envbuilder.diagnostics.checks.check import no_result, was_tried
from envbuilder.diagnostics.checks.driver import RUN_WITH_GPUS, compatibility, interface_of, outcome
from envbuilder.diagnostics.checks.each_gpu import NO_GPU, WORK
from envbuilder.diagnostics.checks.gpu_numbers import operation, worst
from envbuilder.diagnostics.checks.results import NotProven, Outcome, Passed, failure
from envbuilder.diagnostics.checks.tolerances import WHOLE_NUMBERS
from envbuilder.diagnostics.facts.facts import DriverInterface, Fact, Facts, GpuWork, Placed, Seen, Unseen, known
from envbuilder.diagnostics.facts.gpu import Compared, Operations

_CODE = frozenset({Rule.GPU_CODE, Rule.GPU_NOT_KNOWN, Rule.LAST_DRIVER, Rule.PTX_DRIVER})
"""The rules about GPU code in the wheel; the checks that compute cover CUDA and cuDNN."""
_FIRST_USE = (
    "see the checks of driver, cuDNN and GPU architecture; a timeout on first use can be the driver that compiles code:"
    " give it more time"
)


def gpu_visible_to_tensorflow(cuda: CudaExpectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Check that TensorFlow sees every GPU of the driver."""
    if isinstance(facts.devices, Unseen):
        return no_result(facts, facts.devices, "TensorFlow's devices", "listing devices", RUN_WITH_GPUS)
    driver = interface_of(facts)
    if isinstance(driver, NotProven):
        return driver
    seen, there = facts.devices.value.count("GPU"), len(driver.gpus)
    if seen == 0:
        wrote = f"; it wrote: {lines[-1]}" if (lines := known(facts.log)) else ""
        return failure(problem=f"TensorFlow sees no GPU{wrote}", remedy=_remedy(driver, facts))
    if seen < there:
        return failure(
            problem=f"TensorFlow sees {seen} of {there} GPUs",
            remedy="TensorFlow ignores GPUs with far fewer multiprocessors than the best one: set"
            " TF_MIN_GPU_MULTIPROCESSOR_COUNT, or select GPUs with CUDA_VISIBLE_DEVICES",
        )
    return Passed(seen=f"{seen} of {there}")


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


def gpu_matmul_on_gpu(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Check that a matrix product runs on each GPU, not on the CPU, and equals numpy's."""
    return _operation(facts, "cuBLAS", lambda work: work.matmul, lambda work: work.matmul)


def gpu_convolution_on_gpu(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Check that a convolution runs on each GPU, not on the CPU, and equals numpy's."""
    return _operation(facts, "cuDNN", lambda work: work.convolution, lambda work: work.convolution)


def _operation(
    facts: Facts,
    library: str,
    pick: Callable[[GpuWork], Fact[Placed]],
    pick_compared: Callable[[Operations], Fact[Compared]],
) -> Outcome:
    """Return the outcome of one operation, with its comparison with the CPU if the probe made one."""
    if isinstance(facts.gpu, Unseen):
        return no_result(facts, facts.gpu, WORK, "computing on the GPU", _FIRST_USE)
    if not facts.gpu.value:
        return NotProven(reason=NO_GPU)
    first = _placed(tuple((work.asked, pick(work)) for work in facts.gpu.value), library)
    asked = not isinstance(facts.tier.operations, Unseen) or was_tried(facts.tier.operations)
    return worst([operation(facts, pick_compared), first]) if asked else first


def _placed(works: tuple[tuple[str, Fact[Placed]], ...], library: str) -> Outcome:
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
