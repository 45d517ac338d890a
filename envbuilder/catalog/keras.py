"""Which standalone Keras works with which TensorFlow."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envbuilder.catalog.sources import Source


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
        return next((rule for rule in self._about(tensorflow) if keras in rule.keras), None)

    def newest(self, tensorflow: Version, within: SpecifierSet) -> tuple[Version, KerasRule] | None:
        """The newest Keras that works with a TensorFlow, and how that is known; None when none is known."""
        rules = self._about(tensorflow)
        for keras in reversed(self.releases):
            rule = next((rule for rule in rules if keras in rule.keras), None) if keras in within else None
            if rule is not None and rule.works:
                return keras, rule
        return None

    def _about(self, tensorflow: Version) -> tuple[KerasRule, ...]:
        return tuple(rule for rule in self.rules if tensorflow in rule.tensorflow)
