"""Scores of the reasons for a missing GPU, and of the causes of an out-of-memory, of which five look alike."""

from __future__ import annotations

from envbuilder.diagnostics.logs.log_facts import LogFacts, Scores, at_least, at_most

_NO_GPU = (
    "cuinit-303",
    "cuinit-no-device",
    "proc-version-missing",
    "libcuda-not-found",
    "libcuda-dso-not-found",
    "cuda-drivers-not-found",
)
_SURELY_WANTED = (
    "nvidia-smi-failed",
    "nvidia-smi-missing",
    "no-devices-were-found",
    "nvidia-driver-not-detected",
    "nvml-driver-not-loaded",
    "nvml-unknown-error",
    "k8s-insufficient-gpu",
    "torch-no-driver",
    "nvidia-module-missing",
    "no-such-device-nvidia",
    "cuinit-stub-library",
)
_CPU_FALLBACK = (
    "no-driver-or-gpu-not-passed",
    "cuda-soname-missing",
    "cudnn-missing",
    "gpu-ignored",
    "ptx-jit",
    "cuda-unknown-error",
    "visible-devices-mistake",
    "harmless-cpu-only",
    "wsl",
)
_CRASHES = (
    "keras-tf-mismatch",
    "protobuf-mismatch",
    "numpy-abi",
    "h5py-decode",
    "setuptools-pkg-resources",
    "user-code",
    "host-oom",
    "cpu-no-avx",
    "glibc-too-old",
    "static-tls",
    "wrong-python-version",
    "shm-or-nccl",
    "mixed-install",
)


def score_libraries(facts: LogFacts, scores: Scores) -> Scores:
    """Score missing CUDA libraries, which are relevant only if there is a GPU."""
    if facts.has("ctx-gpu-there", "cannot-dlopen-gpu-libraries", "error-loading-cuda"):
        return at_most(scores, harmless_cpu_only=0.2, no_driver_or_gpu_not_passed=0.4)
    if facts.has("import-cuda", "find-dll", "open-cuda-old"):
        return scores
    if facts.has("cuinit-unknown", "system-not-ready", "operating-system-error"):
        return at_most(scores, harmless_cpu_only=0.3, cuda_soname_missing=0.4)
    if facts.has("libcuda-not-found", "cuinit-303") and facts.has("dlopen-cuda"):
        # Neither driver nor toolkit: a machine that was not set up for a GPU.
        return at_most(at_least(scores, harmless_cpu_only=0.62), cuda_soname_missing=0.3)
    return _only_the_runtime(facts, scores)


def _only_the_runtime(facts: LogFacts, scores: Scores) -> Scores:
    """Score TensorFlow's own statement that a missing libcudart may be ignored without a GPU."""
    missing = set(facts.extracted.sonames)
    if not missing or not all("cudart" in soname for soname in missing):
        return scores
    if not facts.has("ignore-cudart"):
        # The next line of the log says so; a log that was cut before it is the same case.
        alone = not facts.has("ctx-wants-gpu", "ctx-gpu-demanded", "ctx-traceback", "import-cuda")
        return at_most(at_least(scores, harmless_cpu_only=0.45), cuda_soname_missing=0.7) if alone else scores
    if facts.has("ctx-wants-gpu"):
        return at_most(at_least(scores, cuda_soname_missing=0.7), harmless_cpu_only=0.5)
    return at_most(at_least(scores, harmless_cpu_only=0.75), cuda_soname_missing=0.4)


def score_driver(facts: LogFacts, scores: Scores) -> Scores:
    """Score an existing driver: too old, of two releases, broken, or hidden from the process."""
    if facts.has("proc-version-missing", "dev-nvidia0-missing"):
        scores = at_most(scores, cuda_unknown_error=0.25)
    if facts.has("cuinit-no-device") and facts.has("ctx-dso-agrees") and not facts.has("proc-version-missing"):
        if facts.has("ctx-docker"):
            scores = at_least(scores, no_driver_or_gpu_not_passed=0.6, visible_devices_mistake=0.45)
        else:
            scores = at_most(
                at_least(scores, visible_devices_mistake=0.62, no_driver_or_gpu_not_passed=0.45),
                no_driver_or_gpu_not_passed=0.5,
            )
    too_old = facts.is_driver_too_old(facts.driver_floor)
    if too_old is not None and "driver-too-old" in scores and not facts.has("unsupported-toolchain"):
        if too_old:
            scores = at_least(scores, driver_too_old=0.9)
        elif facts.has("possibly-insufficient-driver") and not facts.has("driver-insufficient"):
            scores = at_most(scores, driver_too_old=0.12)
    if too_old and facts.has("cuinit-unknown", "cuinit-other", "cuda-unknown-status"):
        scores = at_least(scores, driver_too_old=0.82)
    return scores


def score_wsl(facts: LogFacts, scores: Scores) -> Scores:
    """Score WSL, where the driver comes from Windows, so that its absence has other reasons."""
    inside = facts.has("ctx-wsl") or (facts.has("ctx-wsl-host") and not facts.has("ctx-windows"))
    if not inside or facts.has("dso-mismatch", "cannot-dlopen-gpu-libraries", "import-cuda"):
        return scores
    if facts.has("libcuda-not-found", "cuinit-303", "nvml-driver-not-loaded", "nvidia-smi-failed"):
        return at_least(scores, wsl=0.72 if facts.has("ctx-wsl") else 0.6)
    if facts.has("cuinit-no-device", "cuinit-unknown"):
        return at_least(scores, wsl=0.55)
    return scores


def score_hidden(facts: LogFacts, scores: Scores) -> Scores:
    """Score hidden GPUs: by `-1` on purpose, by an empty list more often by mistake."""
    hidden = facts.has("cpu-only-hidden") or "-1" in facts.evidence.captures("visible")
    if hidden and facts.has("ctx-gpu-demanded"):
        return at_most(
            at_least(scores, visible_devices_mistake=0.85), harmless_cpu_only=0.3, no_driver_or_gpu_not_passed=0.3
        )
    if hidden:
        return at_most(
            at_least(scores, harmless_cpu_only=0.85), no_driver_or_gpu_not_passed=0.3, visible_devices_mistake=0.45
        )
    if facts.has("visible-devices-hidden", "visible-devices-emptied") and facts.has("ctx-gpu-demanded"):
        return at_most(at_least(scores, visible_devices_mistake=0.85), no_driver_or_gpu_not_passed=0.4)
    if facts.has("visible-devices-emptied") and not facts.has("visible-devices-hidden", "ctx-wants-gpu"):
        return at_least(scores, harmless_cpu_only=0.7)
    if facts.has("visible-devices-hidden"):
        return at_most(at_least(scores, visible_devices_mistake=0.8), no_driver_or_gpu_not_passed=0.4)
    return scores


def score_demand(facts: LogFacts, scores: Scores) -> Scores:
    """Score a program that ends because it sees no GPU, and a log without the reason: list the candidates."""
    if not facts.has("ctx-gpu-demanded") or max(scores.values(), default=0.0) >= 0.5:
        return scores
    if facts.has("not-built-with-cuda", "ctx-cpu-wanted"):
        return at_least(scores, gpu_ignored=0.7)
    return at_least(scores, no_driver_or_gpu_not_passed=0.46, gpu_ignored=0.4)


def score_no_gpu(facts: LogFacts, scores: Scores) -> Scores:
    """Score a machine without a GPU, which need not be a failure."""
    if facts.has(*_SURELY_WANTED):
        return at_most(scores, harmless_cpu_only=0.4)
    if not facts.has(*_NO_GPU) or facts.has("ctx-gpu-there", "cannot-dlopen-gpu-libraries"):
        return scores
    demanded = facts.has("ctx-gpu-demanded")
    if demanded and facts.has("visible-devices-emptied"):
        return scores
    if facts.has("ctx-ci", "ctx-cpu-wanted") and not demanded:
        return at_most(at_least(scores, harmless_cpu_only=0.85), no_driver_or_gpu_not_passed=0.3, wsl=0.3)
    if demanded or facts.has("ctx-wants-gpu", "ctx-docker", "num-gpus-zero"):
        return at_most(at_least(scores, no_driver_or_gpu_not_passed=0.7), harmless_cpu_only=0.4)
    return _nobody_asked(facts, scores)


def _nobody_asked(facts: LogFacts, scores: Scores) -> Scores:
    """Score a missing GPU without a sign that one is needed: harmless for a notice, or if the program continues."""
    if not facts.has("cuinit-303", "cuinit-no-device", "proc-version-missing", "libcuda-not-found"):
        return at_most(at_least(scores, harmless_cpu_only=0.62), no_driver_or_gpu_not_passed=0.5)
    goes_on = facts.evidence.last("ctx-goes-on", "ctx-finished") > facts.evidence.last(*_NO_GPU)
    if goes_on and not facts.has("ctx-dso-agrees"):
        return at_most(at_least(scores, harmless_cpu_only=0.62), no_driver_or_gpu_not_passed=0.55)
    return scores


def score_crash(facts: LogFacts, scores: Scores) -> Scores:
    """Rank a crash before an unused GPU, which does not end a program."""
    crash = max((scores.get(name, 0.0) for name in _CRASHES), default=0.0)
    if crash < 0.65 or facts.has("import-cuda", "import-cudnn", "find-dll", "find-cudnn-dll", "assign-device-cpu-only"):
        return scores
    return {name: value * 0.6 if name in _CPU_FALLBACK else value for name, value in scores.items()}


def score_architecture(facts: LogFacts, scores: Scores) -> Scores:
    """Score a GPU that is newer than the CUDA of the log, and a failure that this explains."""
    if facts.has("jit-compiled-from-ptx") and facts.has("cuda-invalid-ptx", "ctx-invalid-handle"):
        scores = at_most(at_least(scores, gpu_arch_unsupported=0.9), ptx_jit=0.4)
    if facts.has("cublas-execution-failed") and facts.gpu_after_cuda:
        return at_most(
            at_least(scores, gpu_arch_unsupported=0.85), oom_preallocation=0.3, oom_other_process=0.3, ptx_jit=0.4
        )
    handle = facts.has("cublas-alloc-failed", "cublas-not-initialized", "cublas-handle")
    if facts.has("gemm-launch") and not handle and facts.gpu_after_cuda:
        return at_least(scores, gpu_arch_unsupported=0.75)
    return scores


_GIB = 1 << 30
_LIBRARY_HANDLES = (
    "cublas-alloc-failed",
    "cudnn-handle-internal",
    "gemm-launch",
    "cublas-not-initialized",
    "cufft-solver-handle",
)
_STEP = ("oom-tensor", "bfc-ran-out", "bfc-ran-out-early", "bfc-dump", "resource-exhausted", "out-of-memory-xla")
_SHORT = (
    *_LIBRARY_HANDLES,
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
    """Score the CPU allocator and Windows' paging file, which concern the main memory."""
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
    if facts.has(*_LIBRARY_HANDLES, "convolution-algorithm"):
        return at_most(at_least(scores, oom_other_process=0.6, oom_preallocation=0.55), oom_batch_too_large=0.3)
    return at_least(scores, oom_other_process=0.55, oom_preallocation=0.45)


def _pieces(facts: LogFacts, scores: Scores) -> Scores:
    """Score the allocator's own figures: much free in total but no piece, or a limit that others have made small."""
    extracted = facts.extracted
    wanted = max(extracted.requested, default=0)
    if extracted.allocator_limit and extracted.allocator_used is not None and wanted:
        if extracted.allocator_left is not None and extracted.allocator_left >= wanted:
            return at_least(scores, oom_other_process=0.75)
        if wanted <= 0.9 * (extracted.allocator_limit - extracted.allocator_used):
            return at_least(scores, oom_fragmentation=0.9)
    return _small_limit(facts, scores)


def _small_limit(facts: LogFacts, scores: Scores) -> Scores:
    """Score a limit of TensorFlow far below the memory of the GPU."""
    extracted = facts.extracted
    if extracted.allocator_limit and extracted.memory and extracted.allocator_limit < 0.4 * extracted.memory:
        return at_least(scores, oom_other_process=0.8)
    given = [int(text) << 20 for text in facts.evidence.captures("memory_given")]
    if min([*given, extracted.allocator_limit or _GIB]) < 0.75 * _GIB:
        return at_least(scores, oom_other_process=0.7)
    return scores


def _handles(facts: LogFacts, scores: Scores) -> Scores:
    """Score a library that does not start without further messages: its most frequent causes are the candidates."""
    if not facts.has(*_LIBRARY_HANDLES, "convolution-algorithm") or facts.has(*_STEP, "device-allocate-failed"):
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
