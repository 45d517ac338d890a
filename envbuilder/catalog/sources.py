"""Sources of facts, and known traps."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.specifiers import SpecifierSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Document that a fact was read in, or how it was measured.

    Attributes:
        text: Address or description, with the date when the fact may change.
    """

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakage:
    """Versions of a package with which `import tensorflow` fails.

    Attributes:
        tensorflow: Releases of TensorFlow.
        package: Normalized name of the package.
        versions: Its versions.
        reason: Why the import fails.
    """

    tensorflow: SpecifierSet
    package: str
    versions: SpecifierSet
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Advisory:
    """A known trap and how envbuilder avoids it.

    Attributes:
        id: Stable kebab-case name.
        title: What goes wrong, in one sentence.
        reason: Why.
        remedy: What envbuilder does about it.
        sources: Where this is documented or measured.
        breaks: Packages with which the import is known to fail.
    """

    id: str
    title: str
    reason: str
    remedy: str
    sources: tuple[Source, ...]
    breaks: tuple[Breakage, ...] = ()
