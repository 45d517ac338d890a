"""Python packages and public names of TensorFlow in a log that do not fit together."""

from __future__ import annotations

import re
from dataclasses import dataclass

from packaging.version import Version

from envbuilder.catalog.keras import KerasRule
from envbuilder.core.versions import Release
from envbuilder.diagnostics.logs.log_facts import LogFacts, Scores, at_least, at_most

_ERRORS = ("tf-attribute", "no-attribute-basic", "keras-module-missing", "keras-import-name")
# Names for `tf` in the names of modules: TensorFlow's own packages, and those of the generated API.
_ROOT = re.compile(r"^(?:tensorflow_core|tensorflow|keras\.api)(?:\._api\.v[12]|\._v[12])?(?=\.|$)")
_IMPORTED = re.compile(r"from '?(?P<module>tensorflow[\w.]{0,80})'?")
_ATTRIBUTE = re.compile(r"module '?(?P<module>[\w.]{2,90})'? has no attribute")


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingName:
    """A public name that an import or an access did not find.

    Attributes:
        name: Dotted: `tf.contrib.layers`.
        releases: Minor releases that have it, ascending; empty when none has.
    """

    name: str
    releases: tuple[Release, ...]


def missing_name(facts: LogFacts) -> MissingName | None:
    """Return the first missing public name; None if there is none, or nothing is known about it."""
    for signature in _ERRORS:
        hit = facts.evidence.hits.get(signature)
        for sample in hit.samples if hit else ():
            name = _public(sample.text, sample.captured.get("attribute", ""), sample.captured.get("module", ""))
            missing = _known(facts, name, is_module=signature == "keras-module-missing") if name else None
            if missing is not None:
                return missing
    return None


def _known(facts: LogFacts, name: str, *, is_module: bool) -> MissingName | None:
    """Return the releases of a name, or of its module if the log's release lacks the module."""
    api, running = facts.api(), facts.extracted.tensorflow
    prefix = name
    while prefix.count("."):
        having = api.having(prefix) if api.knows(prefix) else None
        there = running or (api.releases[-1] if api.releases else None)
        lacks = having is not None and there is not None and there.head(2) not in {each.head(2) for each in having}
        # A package that can be imported need not be a public name: tensorflow.examples was none.
        if having is not None and (lacks or prefix == name) and (having or not is_module):
            return MissingName(name=prefix, releases=having)
        prefix = prefix.rpartition(".")[0]
    return None


def _public(text: str, attribute: str, module: str) -> str:
    """Return `tf.train.Saver` for a message about it; empty for a message about no public name."""
    if not module:
        found = _ATTRIBUTE.search(text) or _IMPORTED.search(text)
        module = f"{found['module']}.{attribute}" if found and attribute else ""
    public = _ROOT.sub("tf", module, count=1).rstrip(".")
    parts = public.split(".")
    hidden = any(part.startswith("_") for part in parts) or parts[1:2] in (["python"], ["core"])
    return public if parts[0] == "tf" and len(parts) > 1 and not hidden else ""


def releases_of_program(facts: LogFacts, missing: MissingName) -> tuple[tuple[Release, ...], tuple[str, ...]]:
    """Return the releases that have the missing name and all other names that the program uses.

    Returns:
        The releases, ascending, and the names. Names that no release has together with the others are left out.
    """
    releases, names = list(missing.releases), [missing.name]
    for used in dict.fromkeys(facts.evidence.captures("api")):
        having = facts.api().having(used.rstrip("."))
        left = [release for release in releases if having and release in having]
        if left and len(left) < len(releases):
            releases, names = left, [*names, used.rstrip(".")]
    return tuple(releases), tuple(names)


def score_installation(facts: LogFacts, scores: Scores) -> Scores:
    """Score two releases in one environment, or a package whose files were removed with another one."""
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
    """Score `tensorflow` and `tensorflow-gpu` in one list: two packages that overwrite each other's files.

    Of the same release they are usual in conda, where one only depends on the other.
    """
    twins = facts.evidence.releases("twin")
    listed = facts.evidence.releases("listed")
    if not twins or not listed:
        return scores
    differ = any(twin.head(2) != other.head(2) for twin in twins for other in listed)
    return at_least(scores, mixed_install=0.72 if differ else 0.4)


def score_names(facts: LogFacts, scores: Scores) -> Scores:
    """Score a missing public name of TensorFlow: the releases that have it show if the release is the cause."""
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


def score_keras_pair(facts: LogFacts, scores: Scores) -> Scores:
    """Score a standalone Keras that is known not to work with the TensorFlow of a failing log."""
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
