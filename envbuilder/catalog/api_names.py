"""Public names of TensorFlow, by release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from envbuilder.core.versions import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiModule:
    """A public module.

    Attributes:
        read: Releases in which its names were read; for any other release they are unknown.
        names: By public name, the releases that have it.
    """

    read: frozenset[Release]
    names: Mapping[str, frozenset[Release]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiMap:
    """The public names of TensorFlow, release by release.

    Attributes:
        releases: Minor releases that were read, ascending.
        modules: By dotted name: `tf`, `tf.nn`.
    """

    releases: tuple[Release, ...] = ()
    modules: Mapping[str, ApiModule] = field(default_factory=dict)

    def having(self, name: str) -> tuple[Release, ...] | None:
        """Return the releases that have a public name, ascending.

        Args:
            name: Dotted, `tf.contrib.layers.conv2d`. Where its last parts are in a module that was not read in a
                release, or in a class, that release is judged by the parts before them.

        Returns:
            Empty if no release has it; None if it is unknown for every release.
        """
        found = self._having(name.split("."))
        return None if found is None else tuple(release for release in self.releases if release in found)

    def knows(self, name: str) -> bool:
        """Return True if the names of the module that a name is in were read in some release."""
        return name.rpartition(".")[0] in self.modules

    def _having(self, parts: list[str]) -> frozenset[Release] | None:
        """Return the releases with a name, and those that have its module but whose names were not read."""
        if parts[:1] != ["tf"] or len(parts) < 2:
            return None
        parent = frozenset(self.releases) if len(parts) == 2 else self._having(parts[:-1])
        module = self.modules.get(".".join(parts[:-1]))
        if module is None or parent is None:
            return parent
        return module.names.get(parts[-1], frozenset()) | (parent - module.read)
