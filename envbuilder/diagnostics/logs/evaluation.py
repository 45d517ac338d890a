"""Ranking of causes: weights, then rules of precedence, then consequences."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.diagnostics.logs.evaluation_doubt import (
    UNDECIDED,
    judge_keras_pair,
    judge_other_vendor,
    judge_undecided,
)
from envbuilder.diagnostics.logs.evaluation_gpu import (
    judge_architecture,
    judge_crash,
    judge_demand,
    judge_driver,
    judge_hidden,
    judge_libraries,
    judge_no_gpu,
    judge_wsl,
)
from envbuilder.diagnostics.logs.evaluation_memory import judge_memory, judge_survived
from envbuilder.diagnostics.logs.evaluation_programs import judge_installation, judge_names
from envbuilder.diagnostics.logs.log_facts import Judge, Scene, Scores, first_scores
from envbuilder.diagnostics.logs.signatures import FailureClass, Role

LEAST = 0.2
_EXPLAINING = 0.6
_FALLBACK = 0.42
_JUDGES: tuple[Judge, ...] = (
    judge_libraries,
    judge_driver,
    judge_hidden,
    judge_no_gpu,
    judge_demand,
    judge_wsl,
    judge_memory,
    judge_installation,
    judge_names,
    judge_keras_pair,
    judge_architecture,
    judge_crash,
    judge_survived,
    judge_undecided,
    judge_other_vendor,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A ranked class of failure.

    Attributes:
        failure: The class.
        confidence: From 0 to 1.
        explains: Classes with evidence of their own that is a consequence of this one.
    """

    failure: FailureClass
    confidence: float
    explains: tuple[str, ...]


def rank(scene: Scene) -> tuple[Ranked, ...]:
    """Return the causes, most likely first; empty if no failure is recognized.

    Returns:
        Causes of at least `LEAST` confidence. A harmless class is first only if nothing failed.
    """
    scores: Scores = first_scores(scene.evidence)
    for judge in _JUDGES:
        scores = judge(scene, scores)
    scores, explained = _without_consequences(scene, scores)
    if max(scores.values(), default=0.0) < 0.3:
        scores = {**scores, **_fallback(scene)}
    if max(scores.values(), default=0.0) < LEAST:
        scores = _harmless(scene)
    scores = _proven_harmless(scene, scores)
    place = {failure.id: number for number, failure in enumerate(scene.failures.classes)}
    names = sorted(scores, key=lambda name: (-round(scores[name], 2), place[name]))
    return tuple(
        Ranked(
            failure=scene.failures.failure(name),
            confidence=round(scores[name], 2),
            explains=tuple(effect for effect, cause in explained.items() if cause == name),
        )
        for name in names
        if scores[name] >= LEAST and not _mere_harmless(scene, names[0], name)
    )


def _mere_harmless(scene: Scene, first: str, name: str) -> bool:
    """Return True for a harmless class after a likely failure."""
    failures = scene.failures
    return failures.failure(name).harmless and not failures.failure(first).harmless and name != first


def _without_consequences(scene: Scene, scores: Scores) -> tuple[Scores, dict[str, str]]:
    """Lower the consequences of a likelier or equally likely cause.

    Returns:
        The scores; and the cause of each explained class.
    """
    left = dict(scores)
    explained: dict[str, str] = {}
    for failure in scene.failures.classes:
        strength = scores.get(failure.id, 0.0)
        if strength < _EXPLAINING or failure.id in explained:
            continue
        for effect in failure.explains:
            slack = 0.0 if scene.failures.failure(effect).harmless else 0.3
            if effect in left and effect not in explained and left[effect] <= strength + slack:
                left[effect] = min(left[effect], LEAST - 0.01)
                explained[effect] = failure.id
    return left, explained


def _fallback(scene: Scene) -> dict[str, float]:
    """Use a bare exception if nothing else explains the failure."""
    hits = [hit for hit in scene.evidence.of(Role.CAUSE) if hit.signature.fallback]
    if not hits or not scene.has("ctx-tensorflow", "ctx-keras-frame", "ctx-tensorflow-frame"):
        return {}
    return {hit.signature.failure: _FALLBACK for hit in hits}


def _harmless(scene: Scene) -> dict[str, float]:
    """Judge a log in which nothing failed: only noise, or a search for an unneeded GPU.

    Certain only if later output proves that the program continued.
    """
    if scene.has("ctx-traceback", "ctx-died-translated") and not scene.has("harmless-cpu-only"):
        return {}
    if not scene.evidence.of(Role.NOISE):
        return {}
    if scene.gpu_after_cuda and scene.has("ctx-gpu-there"):
        return {"ptx-jit": 0.6}
    only_cpu = scene.has("ctx-cpu-wanted") and not scene.has("ctx-gpu-there")
    return {"harmless-cpu-only" if only_cpu else "harmless-noise": 0.8 if _goes_on(scene) else UNDECIDED}


def _goes_on(scene: Scene) -> bool:
    """Return True if output of the program follows the first suspicious line."""
    looks_bad = scene.evidence.of(Role.NOISE)
    return scene.evidence.last("ctx-goes-on", "ctx-finished") > min((hit.first for hit in looks_bad), default=0)


def _proven_harmless(scene: Scene, scores: Scores) -> Scores:
    """Limit the confidence without later output of the program, which would prove that it continued."""
    if _goes_on(scene):
        return scores
    harmless = {failure.id for failure in scene.failures.classes if failure.harmless}
    return {name: min(value, UNDECIDED) if name in harmless else value for name, value in scores.items()}
