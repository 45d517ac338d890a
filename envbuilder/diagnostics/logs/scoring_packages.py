"""Scores of Python packages that do not fit together."""

from __future__ import annotations

from envbuilder.diagnostics.logs.api_names import missing_name
from envbuilder.diagnostics.logs.log_facts import LogFacts, Scores, at_least, at_most


def score_installation(facts: LogFacts, scores: Scores) -> Scores:
    """Judge two releases in one environment, or a package whose files were removed with another one."""
    if facts.has("tf-not-installed") and facts.has("ctx-uninstalled", "ctx-twin-listed"):
        scores = at_least(scores, mixed_install=0.85)
    if facts.has("ctx-twin-shown") and facts.has("ctx-tensorflow-shown"):
        scores = at_least(scores, mixed_install=0.66)
    scores = _twins(facts, scores)
    estimators = facts.evidence.releases("estimator")
    tensorflow = facts.extracted.tensorflow
    differ = bool(estimators and tensorflow and estimators[0].head(2) != tensorflow.head(2))
    if differ and facts.has("tf-attribute", "keras-import-name", "estimator-of-another", "keras-module-missing"):
        scores = at_least(scores, mixed_install=0.9)
    return scores


def _twins(facts: LogFacts, scores: Scores) -> Scores:
    """Judge `tensorflow` and `tensorflow-gpu` in one list: two packages that overwrite each other's files.

    Of the same release they are usual in conda, where one only depends on the other.
    """
    twins = facts.evidence.releases("twin")
    listed = facts.evidence.releases("listed")
    if not twins or not listed:
        return scores
    differ = any(twin.head(2) != other.head(2) for twin in twins for other in listed)
    return at_least(scores, mixed_install=0.72 if differ else 0.4)


def score_names(facts: LogFacts, scores: Scores) -> Scores:
    """Judge a missing public name of TensorFlow: the releases that have it show if the release is the cause."""
    missing = missing_name(facts)
    if missing is None or "keras-tf-mismatch" not in scores:
        return scores
    having, tensorflow = missing.releases, facts.extracted.tensorflow
    if not having:
        return at_most(at_least(scores, user_code=0.4), keras_tf_mismatch=0.55)
    if tensorflow is None:
        newest = facts.api().releases[-1]
        # The newest release has it: an old release and a damaged installation give the same message.
        return at_most(at_least(scores, mixed_install=0.4), keras_tf_mismatch=0.58) if newest in having else scores
    if any(release.head(2) == tensorflow.head(2) for release in having):
        return at_most(at_least(scores, mixed_install=0.56), keras_tf_mismatch=0.4)
    return at_least(scores, keras_tf_mismatch=0.93)
