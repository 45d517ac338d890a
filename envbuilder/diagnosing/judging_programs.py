"""Whether packages of one environment belong together."""

from __future__ import annotations

from envbuilder.diagnosing.scene import Scene, Scores, at_least
from envbuilder.model.versions import Release


def judge_installation(scene: Scene, scores: Scores) -> Scores:
    """Two releases in one environment, or a package whose files another one took along."""
    if scene.has("tf-not-installed") and scene.has("ctx-uninstalled", "ctx-twin-listed"):
        scores = at_least(scores, mixed_install=0.85)
    estimators = scene.evidence.captures("estimator")
    tensorflow = scene.stated.tensorflow
    differ = bool(estimators and tensorflow and Release(estimators[0]).head(2) != tensorflow.head(2))
    if differ and scene.has("tf-attribute", "keras-import-name", "estimator-of-another", "keras-module-missing"):
        scores = at_least(scores, mixed_install=0.9)
    return scores
