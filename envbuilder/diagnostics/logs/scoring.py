"""Score the classes of failure by the evidence of a log, and rank them as causes."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.diagnostics.logs.log_facts import LogFacts, ScoreRule, Scores, at_least, first_scores
from envbuilder.diagnostics.logs.packages import score_installation, score_keras_pair, score_names
from envbuilder.diagnostics.logs.scoring_rules import (
    score_architecture,
    score_crash,
    score_demand,
    score_driver,
    score_hidden,
    score_libraries,
    score_memory,
    score_no_gpu,
    score_survived,
    score_wsl,
)
from envbuilder.diagnostics.logs.signatures import FailureClass, Role

UNDECIDED = 0.58
"""Maximum confidence of the first cause if one symptom has several causes."""
LEAST = 0.2
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
_EXPLAINING = 0.6
_FALLBACK = 0.42


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A ranked class of failure.

    Attributes:
        confidence: From 0 to 1.
        explains: Classes with evidence of their own that is a consequence of this one.
    """

    failure: FailureClass
    confidence: float
    explains: tuple[str, ...]


def score_other_vendor(_: LogFacts, scores: Scores) -> Scores:
    """Score a ROCm build, which names CUDA's libraries in its messages although rules about CUDA do not apply."""
    if "rocm-build" not in scores:
        return scores
    return {name: value if name == "rocm-build" else min(value, 0.3) for name, value in scores.items()}


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
    """Score `cuInit` without a device: unless the driver is missing, the GPU is hidden, taken or not passed."""
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
    extracted = facts.extracted
    given = [int(text) << 20 for text in facts.evidence.captures("memory_given")]
    if min(given, default=_LITTLE) < _LITTLE:
        return True
    return (extracted.free is not None and extracted.memory is not None) or extracted.allocator_limit is not None


_RULES: tuple[ScoreRule, ...] = (
    score_libraries,
    score_driver,
    score_hidden,
    score_no_gpu,
    score_demand,
    score_wsl,
    score_memory,
    score_installation,
    score_names,
    score_keras_pair,
    score_architecture,
    score_crash,
    score_survived,
    score_undecided,
    score_other_vendor,
)


def rank(facts: LogFacts) -> tuple[Ranked, ...]:
    """Return the causes, most likely first; empty if no failure is recognized.

    Returns:
        Causes of at least `LEAST` confidence. A harmless class is first only if nothing failed.
    """
    scores: Scores = first_scores(facts.evidence)
    for rule in _RULES:
        scores = rule(facts, scores)
    scores, explained = _without_consequences(facts, scores)
    if max(scores.values(), default=0.0) < 0.3:
        scores = {**scores, **_fallback(facts)}
    if max(scores.values(), default=0.0) < LEAST:
        scores = _harmless(facts)
    scores = _proven_harmless(facts, scores)
    place = {failure.id: number for number, failure in enumerate(facts.failures.classes)}
    names = sorted(scores, key=lambda name: (-round(scores[name], 2), place[name]))
    return tuple(
        Ranked(
            failure=facts.failures.failure(name),
            confidence=round(scores[name], 2),
            explains=tuple(effect for effect, cause in explained.items() if cause == name),
        )
        for name in names
        if scores[name] >= LEAST and not _mere_harmless(facts, names[0], name)
    )


def _mere_harmless(facts: LogFacts, first: str, name: str) -> bool:
    """Return True for a harmless class after a likely failure."""
    failures = facts.failures
    return failures.failure(name).harmless and not failures.failure(first).harmless and name != first


def _without_consequences(facts: LogFacts, scores: Scores) -> tuple[Scores, dict[str, str]]:
    """Lower the consequences of a likelier or equally likely cause.

    Returns:
        The scores; and the cause of each explained class.
    """
    left = dict(scores)
    explained: dict[str, str] = {}
    for failure in facts.failures.classes:
        strength = scores.get(failure.id, 0.0)
        if strength < _EXPLAINING or failure.id in explained:
            continue
        for effect in failure.explains:
            slack = 0.0 if facts.failures.failure(effect).harmless else 0.3
            if effect in left and effect not in explained and left[effect] <= strength + slack:
                left[effect] = min(left[effect], LEAST - 0.01)
                explained[effect] = failure.id
    return left, explained


def _fallback(facts: LogFacts) -> dict[str, float]:
    """Use a bare exception if nothing else explains the failure."""
    hits = [hit for hit in facts.evidence.of(Role.CAUSE) if hit.signature.fallback]
    if not hits or not facts.has("ctx-tensorflow", "ctx-keras-frame", "ctx-tensorflow-frame"):
        return {}
    return {hit.signature.failure: _FALLBACK for hit in hits}


def _harmless(facts: LogFacts) -> dict[str, float]:
    """Score a log in which nothing failed: only noise, or a search for an unneeded GPU.

    Certain only if later output proves that the program continued.
    """
    if facts.has("ctx-traceback", "ctx-died-translated") and not facts.has("harmless-cpu-only"):
        return {}
    if not facts.evidence.of(Role.NOISE):
        return {}
    if facts.gpu_after_cuda and facts.has("ctx-gpu-there"):
        return {"ptx-jit": 0.6}
    only_cpu = facts.has("ctx-cpu-wanted") and not facts.has("ctx-gpu-there")
    return {"harmless-cpu-only" if only_cpu else "harmless-noise": 0.8 if _goes_on(facts) else UNDECIDED}


def _goes_on(facts: LogFacts) -> bool:
    """Return True if output of the program follows the first suspicious line."""
    looks_bad = facts.evidence.of(Role.NOISE)
    return facts.evidence.last("ctx-goes-on", "ctx-finished") > min((hit.first for hit in looks_bad), default=0)


def _proven_harmless(facts: LogFacts, scores: Scores) -> Scores:
    """Limit the confidence without later output of the program, which would prove that it continued."""
    if _goes_on(facts):
        return scores
    harmless = {failure.id for failure in facts.failures.classes if failure.harmless}
    return {name: min(value, UNDECIDED) if name in harmless else value for name, value in scores.items()}
