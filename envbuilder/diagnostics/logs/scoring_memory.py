"""Scores of the causes of an out-of-memory, of which five write the same lines."""

from __future__ import annotations

from envbuilder.diagnostics.logs.log_facts import LogFacts, Scores, at_least, at_most

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


def score_memory(facts: LogFacts, scores: Scores) -> Scores:
    """Weigh the memory figures of the log."""
    if not facts.has(*_SHORT):
        return scores
    for rule in (_host, _held_at_start, _small_allocations, _pieces, _handles, _second_framework):
        scores = rule(facts, scores)
    return scores


def _host(facts: LogFacts, scores: Scores) -> Scores:
    """Score the CPU allocator and Windows' paging file, which concern the machine's own memory."""
    if facts.has("host-pool-full"):
        return at_most(scores, oom_batch_too_large=0.3)
    if facts.has("cpu-allocator-oom") and "GPU" not in "".join(facts.evidence.captures("allocator")):
        return at_most(scores, oom_batch_too_large=0.15)
    if facts.has("paging-file"):
        return at_most(scores, oom_batch_too_large=0.2, oom_other_process=0.2)
    return scores


def _held_at_start(facts: LogFacts, scores: Scores) -> Scores:
    """Score free and total memory, which TensorFlow logs before it allocates any."""
    free, total = facts.extracted.free, facts.extracted.memory
    if free is None or total is None or total <= 0:
        return scores
    if free < 0.2 * total or free < 0.5 * _GIB:
        return at_most(at_least(scores, oom_other_process=0.95), oom_batch_too_large=0.3)
    if free < 0.55 * total:
        return at_least(scores, oom_other_process=0.7)
    return at_most(scores, oom_other_process=0.35)


def _small_allocations(facts: LogFacts, scores: Scores) -> Scores:
    """Score small allocations refused by the device: others use the memory, the surer the smaller the request."""
    if not facts.has("device-allocate-failed"):
        return scores
    if facts.has("paging-file"):
        return scores
    if facts.has(*_STEP) and facts.extracted.allocator_limit is None:
        return at_least(scores, oom_other_process=0.45)
    smallest = min(facts.extracted.requested, default=0)
    if smallest < _GIB:
        return at_most(at_least(scores, oom_other_process=0.72), oom_batch_too_large=0.5)
    if facts.has(*_HANDLES, "convolution-algorithm"):
        return at_most(at_least(scores, oom_other_process=0.6, oom_preallocation=0.55), oom_batch_too_large=0.3)
    return at_least(scores, oom_other_process=0.55, oom_preallocation=0.45)


def _pieces(facts: LogFacts, scores: Scores) -> Scores:
    """Score the allocator's own figures: much free in total but no piece, or a limit that others have made small."""
    said = facts.extracted
    wanted = max(said.requested, default=0)
    if said.allocator_limit and said.allocator_used is not None and wanted:
        if said.allocator_left is not None and said.allocator_left >= wanted:
            return at_least(scores, oom_other_process=0.75)
        if wanted <= 0.9 * (said.allocator_limit - said.allocator_used):
            return at_least(scores, oom_fragmentation=0.9)
    return _small_limit(facts, scores)


def _small_limit(facts: LogFacts, scores: Scores) -> Scores:
    """Score a limit of TensorFlow far below the memory of the GPU."""
    said = facts.extracted
    if said.allocator_limit and said.memory and said.allocator_limit < 0.4 * said.memory:
        return at_least(scores, oom_other_process=0.8)
    given = [int(text) << 20 for text in facts.evidence.captures("memory_given")]
    if min([*given, said.allocator_limit or _GIB]) < 0.75 * _GIB:
        return at_least(scores, oom_other_process=0.7)
    return scores


def _handles(facts: LogFacts, scores: Scores) -> Scores:
    """Score a library that does not start without further messages: its most frequent causes are the candidates."""
    if not facts.has(*_HANDLES, "convolution-algorithm") or facts.has(*_STEP, "device-allocate-failed"):
        return scores
    if facts.gpu_after_cuda:
        return at_least(scores, gpu_arch_unsupported=0.72)
    return _candidates(facts, scores)


def _candidates(facts: LogFacts, scores: Scores) -> Scores:
    if facts.has("convolution-algorithm"):
        return at_most(at_least(scores, cudnn_init_failed=0.8), oom_preallocation=0.55)
    if facts.has("cublas-not-initialized"):
        return at_most(scores, oom_preallocation=0.46)
    if facts.has("cudnn-handle-internal"):
        # Memory growth fixes both. TensorFlow 1 gives up here if its own reservation left no memory.
        if facts.has("ctx-convolve-check"):
            return at_least(scores, cudnn_init_failed=0.45, oom_preallocation=0.52)
        return at_most(at_least(scores, cudnn_init_failed=0.54), oom_preallocation=0.5)
    if facts.has("gemm-launch"):
        return at_least(scores, oom_other_process=0.42)
    return scores


def _second_framework(facts: LogFacts, scores: Scores) -> Scores:
    """Score another framework in the same process without memory beside TensorFlow's reservation."""
    if facts.has("ctx-second-framework") and facts.has("ran-out-in-step", "torch-oom") and facts.has("ctx-tensorflow"):
        return at_least(scores, oom_preallocation=0.7)
    return scores


def score_survived(facts: LogFacts, scores: Scores) -> Scores:
    """Score a failed allocation that was caught: the program continues and nothing shows that it ended."""
    if not facts.has(*_SHORT, "cpu-allocator-oom") or facts.has(
        "ctx-traceback", "killed-line", "exit-137", "oom-killed"
    ):
        return scores
    last = facts.evidence.last(*_SHORT, "cpu-allocator-oom")
    if facts.evidence.last("ctx-goes-on", "ctx-finished") <= last:
        return scores
    return {
        name: min(value, 0.19) if name.startswith(("oom-", "host-oom")) else value for name, value in scores.items()
    }
