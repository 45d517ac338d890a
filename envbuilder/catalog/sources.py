"""Sources of facts, and known traps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from packaging.specifiers import SpecifierSet

from envbuilder.core.field_rules import At, NotEmpty, Parsed
from envbuilder.core.field_types import PackageRange, VersionRange
from envbuilder.core.references import normalized


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Document that a fact was read in, or how it was measured.

    Attributes:
        text: Address or description, with the date when the fact may change.
    """

    text: str

    def __str__(self) -> str:
        """Return the text."""
        return self.text


SourceList: TypeAlias = Annotated[
    tuple[Annotated[Source, Parsed(lambda text: Source(text=text), write=lambda source: source.text)], ...], NotEmpty()
]
"""The sources of a fact, of which none is without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakage:
    """Versions of a package with which `import tensorflow` fails.

    Attributes:
        reason: Why the import fails.
    """

    tensorflow: VersionRange
    requirement: Annotated[PackageRange, At("package")]
    reason: str

    @property
    def package(self) -> str:
        """Normalized name of the package."""
        return normalized(self.requirement.name)

    @property
    def versions(self) -> SpecifierSet:
        """Its versions."""
        return self.requirement.specifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Advisory:
    """A known trap and how envbuilder avoids it.

    Attributes:
        id: Stable kebab-case name.
        title: What goes wrong, in one sentence.
        remedy: What envbuilder does about it.
        breaks: Packages with which the import is known to fail.
    """

    id: str
    title: str
    reason: str
    remedy: str
    sources: SourceList
    breaks: tuple[Breakage, ...] = ()
