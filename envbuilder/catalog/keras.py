"""Compatibility of standalone Keras with TensorFlow."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envbuilder.catalog.sources import SourceList
from envbuilder.core.field_types import VersionRange


@dataclass(frozen=True, slots=True, kw_only=True)
class KerasRule:
    """An observation of some releases of Keras with some releases of TensorFlow.

    Attributes:
        reason: Why, or what was observed.
    """

    tensorflow: VersionRange
    keras: VersionRange
    works: bool = False
    reason: str
    sources: SourceList


@dataclass(frozen=True, slots=True, kw_only=True)
class KerasFacts:
    """Releases of Keras and the known compatibilities.

    Attributes:
        releases: Final releases of Keras on the index, ascending.
        rules: The first rule that covers a pair of releases applies; without one, the pair is unknown.
    """

    releases: tuple[Version, ...] = ()
    rules: tuple[KerasRule, ...] = ()

    def rule(self, keras: Version, tensorflow: Version) -> KerasRule | None:
        """Return the rule for two releases; None if there is none."""
        return next((rule for rule in self._about(tensorflow) if keras in rule.keras), None)

    def newest(self, tensorflow: Version, within: SpecifierSet) -> tuple[Version, KerasRule] | None:
        """Return the newest Keras that works with a TensorFlow, and its rule; None if none is known."""
        rules = self._about(tensorflow)
        for keras in reversed(self.releases):
            rule = next((rule for rule in rules if keras in rule.keras), None) if keras in within else None
            if rule is not None and rule.works:
                return keras, rule
        return None

    def _about(self, tensorflow: Version) -> tuple[KerasRule, ...]:
        return tuple(rule for rule in self.rules if tensorflow in rule.tensorflow)
