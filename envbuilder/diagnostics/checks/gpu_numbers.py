"""Checks that the numbers of a GPU are correct."""

from __future__ import annotations

from collections.abc import Callable

from envbuilder.catalog.expectation import Expectation
from envbuilder.diagnostics.checks.check import Examine
from envbuilder.diagnostics.checks.each_gpu import check_each, elsewhere, part
from envbuilder.diagnostics.checks.results import NotProven, Outcome
from envbuilder.diagnostics.checks.tolerances import HALF, tolerance
from envbuilder.diagnostics.facts.facts import Fact, Facts
from envbuilder.diagnostics.facts.gpu import Compared, Operations

LIBRARIES = (
    "see the checks of cuBLAS and cuDNN in the image, of the driver, and of the GPU's architecture; then"
    " `nvidia-smi -q` on the host for errors of the GPU's memory"
)
COMPILER = (
    "XLA needs libdevice and ptxas of the CUDA release of the wheel: see what the error names, and set"
    " XLA_FLAGS=--xla_gpu_cuda_data_dir to the directory that contains nvvm/libdevice"
)


def operation(facts: Facts, pick: Callable[[Operations], Fact[Compared]]) -> Outcome:
    """Compare one operation on every GPU with the reference, within the tolerance of its arithmetic."""
    return check_each(
        facts, part(facts.tier.operations, pick), lambda asked, work: _single(facts, asked, work), _seen, LIBRARIES
    )


def on_gpu(pick: Callable[[Operations], Fact[Compared]]) -> Examine:
    """Return the check that an operation runs on each GPU and equals the reference, numpy's or that of the CPU."""
    return lambda _, facts: operation(facts, pick)


def gpu_function_equals_eager(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Check that a function gives the numbers of the same operations run one by one, both on the GPU."""
    return check_each(facts, facts.tier.function, lambda asked, work: _single(facts, asked, work), _seen, LIBRARIES)


def gpu_xla(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Check that XLA compiles for each GPU, and gives the numbers of the CPU."""

    def problem(asked: str, work: Compared) -> str | NotProven:
        if work.compiled is False:
            return NotProven(reason="TensorFlow did not compile the graph that was marked for XLA")
        return _single(facts, asked, work)

    return check_each(facts, facts.tier.xla, problem, _seen, COMPILER)


def gpu_mixed_precision(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature
    """Check that matrix product and convolution in float16 run on each GPU, and are close to those in float32."""
    outcomes = [
        check_each(facts, part(facts.tier.mixed, pick), lambda _, work: _within(work, HALF), _seen, LIBRARIES)
        for pick in (lambda work: work.matmul, lambda work: work.convolution)
    ]
    return worst(outcomes)


def worst(outcomes: list[Outcome]) -> Outcome:
    """Return the first failure, else the first outcome that is not proven, else the last."""
    order = ("Failed", "NotProven", "Passed")
    return min(reversed(outcomes), key=lambda outcome: order.index(type(outcome).__name__))


def _single(facts: Facts, asked: str, work: Compared) -> str:
    return _within(work, tolerance(facts, asked, tf32=work.tf32))


def _within(work: Compared, bound: float) -> str:
    if away := elsewhere(work.where):
        return away
    if work.relative is None:
        return "returned numbers that are not finite"
    if work.relative <= bound:
        return ""
    return f"differs from {work.reference} by {work.relative:.3g} of the largest number, more than {bound:g}"


def _seen(work: Compared) -> str:
    kernel = {True: "cuDNN, ", False: "without cuDNN, ", None: ""}[work.cudnn]
    return f"{kernel}{work.relative:.1g} from {work.reference}"
