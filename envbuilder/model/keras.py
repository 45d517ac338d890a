"""Which standalone Keras works with which TensorFlow."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envbuilder.model.sources import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class KerasRule:
    """What was seen of some releases of Keras on some releases of TensorFlow.

    Attributes:
        tensorflow: Releases of TensorFlow.
        keras: Releases of Keras.
        works: Whether they work together.
        reason: Why, or what was seen.
        sources: Where this is known from.
    """

    tensorflow: SpecifierSet
    keras: SpecifierSet
    works: bool
    reason: str
    sources: tuple[Source, ...]

    def is_about(self, keras: Version, tensorflow: Version) -> bool:
        """Whether the rule speaks of these two."""
        return keras in self.keras and tensorflow in self.tensorflow


@dataclass(frozen=True, slots=True, kw_only=True)
class KerasFacts:
    """What is known of Keras.

    Attributes:
        releases: Final releases of Keras on the index, ascending.
        rules: The first that is about two releases holds; where none is, nothing is known.
    """

    releases: tuple[Version, ...] = ()
    rules: tuple[KerasRule, ...] = ()

    def rule(self, keras: Version, tensorflow: Version) -> KerasRule | None:
        """What is known of these two; None when nothing is."""
        return next((rule for rule in self.rules if rule.is_about(keras, tensorflow)), None)

    def newest(self, tensorflow: Version, within: SpecifierSet) -> tuple[Version, KerasRule] | None:
        """The newest Keras that works with a TensorFlow, and how that is known; None when none is known."""
        for keras in reversed(self.releases):
            rule = self.rule(keras, tensorflow) if keras in within else None
            if rule is not None and rule.works:
                return keras, rule
        return None
