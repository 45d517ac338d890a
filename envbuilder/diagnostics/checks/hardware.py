"""Checks of the results of GPUs in CUDA's own libraries, without a framework."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from envbuilder.catalog.expectation import CudaExpectation
from envbuilder.diagnostics.checks.check import not_seen, was_tried
from envbuilder.diagnostics.checks.results import Failed, NotProven, Outcome, Passed, failure
from envbuilder.diagnostics.facts.facts import Fact, Facts, Seen, Unseen
from envbuilder.diagnostics.facts.hardware import Compute, ComputeGpu, MemoryRoundTrip, TimedProduct

T = TypeVar("T")
_TOO_OLD = "cudaGetDeviceCount: 35 "
_NO_DEVICE = "cudaGetDeviceCount: 100 "
_REMEDIES = {
    "cudaGetDeviceCount: 802 ": "a machine with NVSwitch needs nvidia-fabricmanager of the driver's release: start it",
    "cudaGetDeviceCount: 803 ": "kernel module and library of the driver differ: reboot after the driver update",
    "cudaGetDeviceCount: 804 ": "this GPU has no forward compatibility: take cuda-compat off the loader path",
}
_SEE_HOST = "`nvidia-smi -q` and `dmesg | grep -i xid` on the host show errors of the GPU"
_FAULTY_GPU = (
    "the operation is exact on a sound GPU, and no framework was involved: " + _SEE_HOST + "; try another GPU with"
    " CUDA_VISIBLE_DEVICES, and the same image on another machine"
)
Problem = Failed | NotProven | None


def cublas_result_right(cuda: CudaExpectation, facts: Facts) -> Outcome:
    """Check that GPU memory keeps written data, and that cuBLAS gives the known products on every GPU."""
    return _on_every_gpu(
        cuda,
        facts,
        lambda gpu: (_problem(gpu.memory, _kept), _problem(gpu.matmul, _exact), _problem(gpu.speed, _timed)),
        _speeds,
    )


def cudnn_result_right(cuda: CudaExpectation, facts: Facts) -> Outcome:
    """Check that cuDNN gives the known convolution on every GPU."""
    return _on_every_gpu(
        cuda, facts, lambda gpu: (_problem(gpu.convolution, _exact),), lambda gpu: f"GPU {gpu.index}: exact"
    )


def _on_every_gpu(
    cuda: CudaExpectation,
    facts: Facts,
    problems: Callable[[ComputeGpu], tuple[Problem, ...]],
    praise: Callable[[ComputeGpu], str],
) -> Outcome:
    gpus = _gpus(cuda, facts)
    if not isinstance(gpus, tuple):
        return gpus
    found = [(gpu.index, problem) for gpu in gpus for problem in problems(gpu)]
    failed = [(index, problem) for index, problem in found if isinstance(problem, Failed)]
    if failed:
        return failure(
            problem="; ".join(f"GPU {index}: {problem.finding.message}" for index, problem in failed),
            remedy=failed[0][1].finding.remedy,
        )
    unproven = [f"GPU {index}: {problem.reason}" for index, problem in found if isinstance(problem, NotProven)]
    return NotProven(reason="; ".join(unproven)) if unproven else Passed(seen=", ".join(map(praise, gpus)))


def _gpus(cuda: CudaExpectation, facts: Facts) -> tuple[ComputeGpu, ...] | Failed | NotProven:
    if isinstance(facts.compute, Seen):
        return facts.compute.value.gpus or _why_none(cuda, facts.compute.value)
    if not was_tried(facts.compute):
        return not_seen("work on a GPU without a framework", facts.compute)
    return failure(problem=f"opening the CUDA libraries failed with {facts.compute.summary}", remedy=_SEE_HOST)


def _why_none(cuda: CudaExpectation, compute: Compute) -> Failed | NotProven:
    if not compute.has_runtime or compute.stub or compute.driver is None:
        return NotProven(reason=f"nothing was computed on a GPU: {compute.error or 'there is no driver'}")
    if compute.error.startswith(_TOO_OLD):
        runtime = compute.runtime or cuda.release
        return failure(
            problem=f"the CUDA runtime {runtime} refuses this driver, which supports CUDA up to {compute.driver}:"
            f" {compute.error}",
            remedy=f"update the driver of the host to {cuda.driver} or newer, or use an environment with an older CUDA"
            " (`envbuilder list`)",
        )
    if not compute.error or compute.error.startswith(_NO_DEVICE):
        return NotProven(reason=f"the driver has no GPU for this process: {compute.error or 'none is visible'}")
    remedies = [remedy for start, remedy in _REMEDIES.items() if compute.error.startswith(start)]
    return failure(problem=compute.error, remedy=remedies[0] if remedies else _SEE_HOST)


def _problem(fact: Fact[T], describe: Callable[[T], str]) -> Problem:
    if isinstance(fact, Seen):
        problem = describe(fact.value)
        return failure(problem=problem, remedy=_FAULTY_GPU) if problem else None
    if fact.kind == "NoLibrary" or not was_tried(fact):
        return NotProven(reason=fact.headline)
    return failure(problem=fact.summary, remedy=_remedy(fact))


def _remedy(fact: Unseen) -> str:
    if "cudaErrorMemoryAllocation" in fact.message or "ALLOC_FAILED" in fact.message:
        return "another process holds the memory of the GPU: see check gpu-memory-free"
    if "ARCH_MISMATCH" in fact.message or "NoKernelImage" in fact.message:
        return "the libraries have no code for this GPU: use an environment with a newer CUDA (`envbuilder list`)"
    if "DevicesUnavailable" in fact.message:
        return "the GPU is in exclusive or prohibited mode: `nvidia-smi -c 0` on the host"
    return f"{_SEE_HOST}; a timeout on first use may be caused by JIT compilation: increase the timeout"


def _kept(seen: MemoryRoundTrip) -> str:
    return "" if seen.equal else "its memory returned other bytes than were written"


def _exact(difference: float | None) -> str:
    if difference is None:
        return "returned numbers that are not finite"
    return f"differs from the known result by {difference:.4g}" if difference else ""


def _timed(seen: tuple[TimedProduct, ...]) -> str:
    wrong = [f"{product.size}x{product.size}" for product in seen if not product.equal]
    return f"wrong numbers in a product of {' and '.join(wrong)}" if wrong else ""


def _speeds(gpu: ComputeGpu) -> str:
    products = gpu.speed.value if isinstance(gpu.speed, Seen) else ()
    largest = max(products, key=lambda product: product.size, default=None)
    if largest is None or largest.teraflops is None:
        return f"GPU {gpu.index}: exact"
    size = f"{largest.size}x{largest.size}"
    return f"GPU {gpu.index}: exact, {size} in {largest.milliseconds:.2f} ms ({largest.teraflops:.1f} TFLOP/s float32)"
