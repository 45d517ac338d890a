"""Values of a spec."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Annotated

from packaging.version import Version

from envbuilder.catalog.references import CatalogReference, catalog_reference
from envbuilder.core.field_rules import At, Omitted, Parsed, Sorted
from envbuilder.core.field_types import DistributionName, ImageName, RowId
from envbuilder.core.image_paths import AllowedPath
from envbuilder.core.memory_policy import ALL, MemoryPolicy, plain_policy
from envbuilder.core.names import os_package, pep440, requirement, requirement_name
from envbuilder.core.versions import Release
from envbuilder.lock.container_settings import DEFAULT_USER, UNSET, BuildVariables, ContainerSettings, User, Variables
from envbuilder.lock.ingredient_sources import NO_SOURCES, Sources
from envbuilder.lock.lock import OwnFile, PrioritizedFiles
from envbuilder.lock.resolve.tensorflow_distributions import OTHER_BUILDS


def _own_package(text: str) -> str:
    """Return a requirement for an own package, unchanged.

    Raises:
        ValueError: It is not a requirement, or is for another build of TensorFlow.
    """
    name = requirement_name(requirement(text))
    if name in OTHER_BUILDS:
        raise ValueError(
            f"{name} is another build of TensorFlow: an image contains only that of its environment (remove it; "
            "`tensorflow:` selects a patch release)"
        )
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """Content of `envbuilder.yaml`; the defaults are those of `build ENV` without a file.

    Attributes:
        environment: Id of the environment.
        packages: Own Python packages, as PEP 508 requirements, sorted.
        apt: Own OS packages, sorted.
        source_builds: Own packages that may be built from source, sorted.
        build_tools: OS packages of the stage that builds them, such as compilers, sorted; not in the image.
        build_requires: Python packages of that stage, such as build backends, as PEP 508 requirements, sorted; not in
            the image.
        build_env: Environment variables of the builds of that stage, sorted by name; not in the image.
        cutoff: Own packages uploaded after this day are ignored; None for the environment's day.
        tensorflow: Patch release; None for the environment's own.
        python: Interpreter version; None for that of the chosen base.
        base: Id of the base to use; empty for the environment's order of preference.
        env: Environment variables, sorted by name.
        settings: Settings of containers, each a field of the spec.
        require_driver: Whether NVIDIA's container runtime refuses nodes that cannot run the image.
        files: Own files, sorted by path.
        prioritized_files: List of the files that are fetched first in the format `estargz`, relative to the spec; empty
            for none.
        prioritized: Content of that list.
        allow: Absolute paths, sorted: files of own packages that may hide or replace another file, and system programs
            that keep their set-user-ID and set-group-ID bits.
        user: User in the image.
        memory: Memory policy.
        sources: Sources of ingredients on this machine.
        profiles: Ids of profiles to add, sorted.
        name: Name of the image below `envbuilder/`; empty for the default of the command that builds.
        catalogs: Catalogs of teams, in order of precedence, highest last.
        extends: Spec whose values this one adds to or replaces: a path, or `CATALOG:NAME`; empty for none.
    """

    environment: str
    packages: Annotated[tuple[Annotated[str, Parsed(_own_package)], ...], Sorted()] = ()
    apt: Annotated[tuple[Annotated[str, Parsed(os_package)], ...], Sorted()] = ()
    source_builds: Annotated[tuple[DistributionName, ...], Sorted()] = ()
    build_tools: Annotated[tuple[Annotated[str, Parsed(os_package)], ...], Sorted()] = ()
    build_requires: Annotated[tuple[Annotated[str, Parsed(requirement)], ...], Sorted()] = ()
    build_env: BuildVariables = ()
    cutoff: date | None = None
    tensorflow: Annotated[Version, Parsed(pep440)] | None = None
    python: Release | None = None
    base: str = ""
    env: Variables = ()
    settings: Annotated[ContainerSettings, At()] = UNSET
    require_driver: bool = False
    files: Annotated[tuple[OwnFile, ...], Omitted()] = ()
    prioritized_files: str = ""
    prioritized: Annotated[PrioritizedFiles, Omitted()] = ()
    allow: Annotated[tuple[AllowedPath, ...], Sorted()] = ()
    user: Annotated[User, Omitted()] = DEFAULT_USER
    memory: Annotated[MemoryPolicy, Parsed(plain_policy, of=object)] = ALL
    sources: Sources = NO_SOURCES
    profiles: Annotated[tuple[RowId, ...], Sorted()] = ()
    name: ImageName = ""
    catalogs: tuple[Annotated[CatalogReference, Parsed(catalog_reference)], ...] = ()
    extends: str = ""

    @property
    def has_build_stage(self) -> bool:
        """True if own packages that have no wheel are built in a stage of their own."""
        return bool(self.source_builds and self.build_stage_fields)

    @property
    def build_stage_fields(self) -> tuple[str, ...]:
        """Names of the fields that describe the stage that builds own packages, as far as they are set."""
        given = {
            "build_tools": self.build_tools,
            "build_requires": self.build_requires,
            "build_env": self.build_env,
        }
        return tuple(name for name, value in given.items() if value)
