"""Catalogs of teams, which add environments to those of envbuilder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from envbuilder.core.digests import shortened

SPECS = "specs"
"""Directory of the specs of a catalog that other specs extend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogPlace:
    """The files of a catalog on this machine.

    Attributes:
        address: Address of its repository; empty for a directory.
        commit: Commit that the files are of; empty for a directory.
    """

    folder: Path
    address: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamCatalog:
    """A catalog of a team.

    Attributes:
        name: Its name, from its `catalog.yaml`.
        place: Where its files are.
        digest: The `sha256:…` of its files.
        environments: Ids of its environments, sorted.
    """

    name: str
    place: CatalogPlace
    digest: str
    environments: tuple[str, ...]

    @property
    def state(self) -> str:
        """Its commit, or the digest of its files, shortened."""
        return f"commit {self.place.commit[:12]}" if self.place.commit else f"files {shortened(self.digest)}"

    def __str__(self) -> str:
        return f"{self.name}, {self.place.address or self.place.folder}, {self.state}"
