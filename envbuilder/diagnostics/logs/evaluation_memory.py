"""Why memory is short, or why a CUDA library found none: the same lines come from five causes."""

from __future__ import annotations

from envbuilder.diagnostics.logs.log_facts import Scene, Scores, at_least, at_most

_GIB = 1 << 30
_HANDLES = (
    "cublas-alloc-failed",
    "cudnn-handle-internal",
    "gemm-launch",
    "cublas-not-initialized",
    "cufft-solver-handle",
)
_STEP = ("oom-tensor", "bfc-ran-out", "bfc-ran-out-early", "bfc-dump", "resource-exhausted", "out-of-memory-xla")
_SHORT = (
    *_HANDLES,
    *_STEP,
    "device-allocate-failed",
    "dst-tensor",
    "convolution-algorithm",
    "retain-out-of-memory",
    "ran-out-in-step",
    "torch-oom",
)


def judge_memory(scene: Scene, scores: Scores) -> Scores:
    """Weigh the memory figures of the log."""
    if not scene.has(*_SHORT):
        return scores
    for judge in (_host, _held_at_start, _small_allocations, _pieces, _handles, _second_framework):
        scores = judge(scene, scores)
    return scores


def _host(scene: Scene, scores: Scores) -> Scores:
    """The CPU allocator and Windows' paging file are about the machine's own memory."""
    if scene.has("host-pool-full"):
        return at_most(scores, oom_batch_too_large=0.3)
    if scene.has("cpu-allocator-oom") and "GPU" not in "".join(scene.evidence.captures("allocator")):
        return at_most(scores, oom_batch_too_large=0.15)
    if scene.has("paging-file"):
        return at_most(scores, oom_batch_too_large=0.2, oom_other_process=0.2)
    return scores


def _held_at_start(scene: Scene, scores: Scores) -> Scores:
    """TensorFlow logs free and total memory before it takes any."""
    free, total = scene.stated.free, scene.stated.memory
    if free is None or total is None or total <= 0:
        return scores
    if free < 0.2 * total or free < 0.5 * _GIB:
        return at_most(at_least(scores, oom_other_process=0.95), oom_batch_too_large=0.3)
    if free < 0.55 * total:
        return at_least(scores, oom_other_process=0.7)
    return at_most(scores, oom_other_process=0.35)


def _small_allocations(scene: Scene, scores: Scores) -> Scores:
    """The device refuses what TensorFlow wants to reserve: others hold the memory, the surer the less it asks for."""
    if not scene.has("device-allocate-failed"):
        return scores
    if scene.has("paging-file"):
        return scores
    if scene.has(*_STEP) and scene.stated.allocator_limit is None:
        return at_least(scores, oom_other_process=0.45)
    smallest = min(scene.stated.requested, default=0)
    if smallest < _GIB:
        return at_most(at_least(scores, oom_other_process=0.72), oom_batch_too_large=0.5)
    if scene.has(*_HANDLES, "convolution-algorithm"):
        return at_most(at_least(scores, oom_other_process=0.6, oom_preallocation=0.55), oom_batch_too_large=0.3)
    return at_least(scores, oom_other_process=0.55, oom_preallocation=0.45)


def _pieces(scene: Scene, scores: Scores) -> Scores:
    """The allocator's own figures: much free in total but no piece, or a limit that others have made small."""
    said = scene.stated
    wanted = max(said.requested, default=0)
    if said.allocator_limit and said.allocator_used is not None and wanted:
        if said.allocator_left is not None and said.allocator_left >= wanted:
            return at_least(scores, oom_other_process=0.75)
        if wanted <= 0.9 * (said.allocator_limit - said.allocator_used):
            return at_least(scores, oom_fragmentation=0.9)
    return _small_limit(scene, scores)


def _small_limit(scene: Scene, scores: Scores) -> Scores:
    """TensorFlow got far less than the GPU has."""
    said = scene.stated
    if said.allocator_limit and said.memory and said.allocator_limit < 0.4 * said.memory:
        return at_least(scores, oom_other_process=0.8)
    given = [int(text) << 20 for text in scene.evidence.captures("memory_given")]
    if min([*given, said.allocator_limit or _GIB]) < 0.75 * _GIB:
        return at_least(scores, oom_other_process=0.7)
    return scores


def _handles(scene: Scene, scores: Scores) -> Scores:
    """A library that does not start, with nothing else said: its most frequent causes, as candidates."""
    if not scene.has(*_HANDLES, "convolution-algorithm") or scene.has(*_STEP, "device-allocate-failed"):
        return scores
    if scene.gpu_after_cuda:
        return at_least(scores, gpu_arch_unsupported=0.72)
    return _candidates(scene, scores)


def _candidates(scene: Scene, scores: Scores) -> Scores:
    if scene.has("convolution-algorithm"):
        return at_most(at_least(scores, cudnn_init_failed=0.8), oom_preallocation=0.55)
    if scene.has("cublas-not-initialized"):
        return at_most(scores, oom_preallocation=0.46)
    if scene.has("cudnn-handle-internal"):
        # Both are helped by growth. TensorFlow 1 gives up here when its own reservation left nothing.
        if scene.has("ctx-convolve-check"):
            return at_least(scores, cudnn_init_failed=0.45, oom_preallocation=0.52)
        return at_most(at_least(scores, cudnn_init_failed=0.54), oom_preallocation=0.5)
    if scene.has("gemm-launch"):
        return at_least(scores, oom_other_process=0.42)
    return scores


def _second_framework(scene: Scene, scores: Scores) -> Scores:
    """Another framework in the same process finds nothing left beside TensorFlow's reservation."""
    if scene.has("ctx-second-framework") and scene.has("ran-out-in-step", "torch-oom") and scene.has("ctx-tensorflow"):
        return at_least(scores, oom_preallocation=0.7)
    return scores


def judge_survived(scene: Scene, scores: Scores) -> Scores:
    """An allocation that failed and was caught: the program goes on and nothing says that it died."""
    if not scene.has(*_SHORT, "cpu-allocator-oom") or scene.has(
        "ctx-traceback", "killed-line", "exit-137", "oom-killed"
    ):
        return scores
    last = scene.evidence.last(*_SHORT, "cpu-allocator-oom")
    if scene.evidence.last("ctx-goes-on", "ctx-finished") <= last:
        return scores
    return {
        name: min(value, 0.19) if name.startswith(("oom-", "host-oom")) else value for name, value in scores.items()
    }
