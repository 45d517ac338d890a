"""Scores of ambiguous logs: other vendors' builds, crashes without a message, symptoms with several causes."""

from __future__ import annotations

from packaging.version import Version

from envbuilder.catalog.keras import KerasRule
from envbuilder.diagnostics.logs.log_facts import LogFacts, Scores, at_least, at_most

UNDECIDED = 0.58
"""Maximum confidence of the first cause if one symptom has several causes."""
_CANDIDATE = 0.3
_HANDLE_ALONE = 0.7
_LITTLE = 768 << 20
_MEMORY = ("oom-batch-too-large", "oom-other-process", "oom-preallocation", "oom-fragmentation")
_HANDLE_CLASSES = (*_MEMORY, "cudnn-init-failed", "corrupt-nv-cache")
_HANDLES = (
    "cublas-alloc-failed",
    "cublas-not-initialized",
    "cublas-other-status",
    "cudnn-handle-internal",
    "cudnn-handle-not-initialized",
    "cufft-solver-handle",
    "gemm-launch",
    "convolution-algorithm",
    "dnn-not-found-init",
    "dnn-implementation",
    "device-allocate-failed",
)
_REFUSED = ("oom-tensor", "bfc-ran-out", "bfc-ran-out-early", "resource-exhausted", "out-of-memory-xla")
_FAULTY_START = ("retain-out-of-memory", "runtime-init-oom", "gpu-process-listed", "ctx-second-framework")


def score_other_vendor(_: LogFacts, scores: Scores) -> Scores:
    """Judge a ROCm build, which names CUDA's libraries in its messages although rules about CUDA do not apply."""
    if "rocm-build" not in scores:
        return scores
    return {name: value if name == "rocm-build" else min(value, 0.3) for name, value in scores.items()}


def score_keras_pair(facts: LogFacts, scores: Scores) -> Scores:
    """Judge a standalone Keras that is known not to work with the TensorFlow of a failing log."""
    rule = keras_rule(facts)
    if rule is None or rule.works:
        return scores
    crashed = facts.has("segmentation-fault", "segmentation-fault-translated")
    if crashed or "keras-tf-mismatch" in scores or (facts.has("ctx-keras-frame") and facts.has("ctx-traceback")):
        return at_most(at_least(scores, keras_tf_mismatch=0.85), native_crash=0.3)
    return at_least(scores, keras_tf_mismatch=0.4)


def keras_rule(facts: LogFacts) -> KerasRule | None:
    """Return the rule about the Keras and the TensorFlow in the log; None if it does not name both."""
    keras, tensorflow = facts.extracted.keras, facts.extracted.tensorflow
    if keras is None or tensorflow is None:
        return None
    if keras.head(2) == tensorflow.head(2) or (keras.head(2) == (2, 4) and tensorflow.head(2) == (2, 3)):
        # tf.keras reports its own version: 2.4.0 in TensorFlow 2.3 and 2.4, the release of TensorFlow later.
        return None
    return facts.catalog.keras.rule(Version(str(keras)), Version(str(tensorflow)))


def score_undecided(facts: LogFacts, scores: Scores) -> Scores:
    """Keep the first cause below certainty if the same lines have several causes and the log does not decide."""
    if _has_memory_figures(facts) or facts.has("cudnn-loaded-vs-compiled", *_FAULTY_START):
        return scores
    if facts.has("cublas-not-initialized", "cublas-alloc-failed") and max(scores.values()) <= _HANDLE_ALONE:
        scores = at_least(scores, oom_preallocation=0.5, oom_other_process=0.4)
    if facts.has("convolution-algorithm", "dnn-implementation") and "cudnn-init-failed" in scores:
        scores = at_least(scores, oom_preallocation=0.45)
    if facts.has(*_HANDLES):
        scores = {name: min(value, UNDECIDED) if name in _HANDLE_CLASSES else value for name, value in scores.items()}
    if facts.has(*_REFUSED) and scores.get("oom-batch-too-large", 0.0) >= _CANDIDATE:
        scores = {name: min(value, UNDECIDED) if name in _MEMORY else value for name, value in scores.items()}
        scores = at_least(scores, oom_other_process=0.35, oom_fragmentation=0.25)
    return _no_device(facts, scores)


def _no_device(facts: LogFacts, scores: Scores) -> Scores:
    """Judge `cuInit` without a device: unless the driver is missing, the GPU is hidden, taken or not passed."""
    if not facts.has("cuinit-no-device") or facts.has("proc-version-missing", "dev-nvidia0-missing", "ctx-gpu-there"):
        return scores
    deciding = ("visible-devices-hidden", "visible-devices-emptied", "visible-devices-no-number", "cpu-only-hidden")
    if facts.has(*deciding, "nvidia-smi-failed", "nvidia-smi-missing", "no-devices-were-found", "ctx-wsl"):
        return scores
    names = ("no-driver-or-gpu-not-passed", "visible-devices-mistake", "harmless-cpu-only", "driver-library-mismatch")
    scores = {name: min(value, UNDECIDED) if name in names else value for name, value in scores.items()}
    return at_least(scores, visible_devices_mistake=0.35) if "no-driver-or-gpu-not-passed" in scores else scores


def _has_memory_figures(facts: LogFacts) -> bool:
    """Return True if the log has the free memory at the start, a tiny share of the GPU, or allocator figures."""
    said = facts.extracted
    given = [int(text) << 20 for text in facts.evidence.captures("memory_given")]
    if min(given, default=_LITTLE) < _LITTLE:
        return True
    return (said.free is not None and said.memory is not None) or said.allocator_limit is not None
