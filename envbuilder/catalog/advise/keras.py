"""Reasons from the requested release of standalone Keras."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envbuilder.catalog.advise.advice import AdviceReason, Change, Spec, Topic, Weight
from envbuilder.catalog.keras import KerasFacts, KerasRule

ANY = SpecifierSet()


def keras_to_install(facts: KerasFacts, asked: Spec | None, tensorflow: Version) -> Version | None:
    """Return the newest Keras for a TensorFlow, in the requested range if possible; None if none is known."""
    if asked is None:
        return None
    found = facts.newest(tensorflow, asked.versions) or facts.newest(tensorflow, ANY)
    return found[0] if found else None


def keras_reasons(facts: KerasFacts, asked: Spec | None, tensorflow: Version) -> Iterator[AdviceReason]:
    """Yield the reasons for and against the requested Keras with a TensorFlow."""
    if asked is None:
        return
    found = facts.newest(tensorflow, asked.versions)
    if found is not None:
        keras, rule = found
        yield AdviceReason(
            topic=Topic.KERAS,
            weight=Weight.FOR,
            text=f"Keras {keras} works with TensorFlow {tensorflow}: {rule.reason}",
            asked=asked.text,
            has=str(keras),
            sources=rule.sources,
        )
        return
    yield _failing(facts, asked, tensorflow)


def _failing(facts: KerasFacts, asked: Spec, tensorflow: Version) -> AdviceReason:
    among = [keras for keras in facts.releases if keras in asked]
    known = [(keras, rule) for keras in reversed(among) if (rule := facts.rule(keras, tensorflow)) is not None]
    if among and not known:
        return AdviceReason(
            topic=Topic.KERAS,
            weight=Weight.COST,
            text=f"not proven: the catalog has no record of Keras {asked.text} with TensorFlow {tensorflow}",
            asked=asked.text,
            price=3,
            is_doubt=True,
        )
    if not among:
        return _against(facts, asked, tensorflow, f"there is no Keras {asked.text} on the index", None)
    keras, rule = known[0]
    return _against(
        facts, asked, tensorflow, f"Keras {keras} does not work with TensorFlow {tensorflow}: {rule.reason}", rule
    )


def _against(facts: KerasFacts, asked: Spec, tensorflow: Version, text: str, rule: KerasRule | None) -> AdviceReason:
    other = facts.newest(tensorflow, ANY)
    instead = f"keras=={other[0]}" if other else "tf.keras, which is inside TensorFlow,"
    return AdviceReason(
        topic=Topic.KERAS,
        weight=Weight.AGAINST,
        text=text,
        asked=asked.text,
        has=str(other[0]) if other else "",
        sources=rule.sources if rule else (),
        change=Change(topic=Topic.KERAS, text=f"{instead} instead of Keras {asked.text}"),
    )
