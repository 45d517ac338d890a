"""Profiles: tools that specs add to environments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from packaging.version import Version

from envbuilder.catalog.sources import SourceList
from envbuilder.core.field_rules import NotEmpty, Parsed, Sorted
from envbuilder.core.field_types import RowId, VersionRange, within
from envbuilder.core.names import requirement


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePackages:
    """The packages of a profile for some releases of TensorFlow.

    Attributes:
        requirements: PEP 508 requirements without markers, sorted.
    """

    tensorflow: VersionRange
    requirements: Annotated[tuple[Annotated[str, Parsed(requirement)], ...], NotEmpty(), Sorted()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Tools that can be added to an environment.

    Attributes:
        id: The name that users type, such as `jupyter`.
        summary: One line about its content.
        port: TCP port that its server listens on by default.
        packages: The first entry that covers a release of TensorFlow holds.
        extensions: Ids of extensions that editors use it with, sorted.
    """

    id: RowId
    summary: str
    port: Annotated[int, within(1024, 65535, "ports below belong to the system")]
    packages: Annotated[tuple[ProfilePackages, ...], NotEmpty()]
    extensions: Annotated[tuple[str, ...], Sorted()] = ()
    sources: SourceList

    def requirements(self, tensorflow: Version) -> tuple[str, ...]:
        """Return its requirements beside a release of TensorFlow; empty if it does not support that release."""
        found = (each.requirements for each in self.packages if tensorflow in each.tensorflow)
        return next(found, ())
