"""Values of a spec, and the decoder of `envbuilder.yaml`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Annotated

from packaging.version import Version

from envbuilder.catalog.references import CatalogReference, catalog_reference
from envbuilder.core.conversion.reading import Mismatch
from envbuilder.core.field_rules import At, Entries, Omitted, Parsed, Sorted
from envbuilder.core.field_types import DistributionName, ImageName, RowId, exactly
from envbuilder.core.image_paths import AllowedPath, ImagePath
from envbuilder.core.memory_policy import ALL, MemoryPolicy, plain_policy
from envbuilder.core.names import account_name, os_package, pep440, requirement, requirement_name
from envbuilder.core.versions import Release
from envbuilder.core.yaml.documents import ParsedDocument
from envbuilder.core.yaml.structured import structured
from envbuilder.lock.container_settings import (
    DEFAULT_USER,
    UNSET,
    AccountId,
    BuildVariables,
    ContainerSettings,
    User,
    Variables,
)
from envbuilder.lock.ingredient_sources import NO_SOURCES, Sources
from envbuilder.lock.lock import OwnFile, PrioritizedFiles
from envbuilder.lock.resolve.tensorflow_distributions import OTHER_BUILDS

SPEC_SCHEMA = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Account:
    name: Annotated[str, Parsed(account_name)] = DEFAULT_USER.name
    uid: AccountId = DEFAULT_USER.uid
    gid: AccountId = DEFAULT_USER.gid


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecDocument:
    """Content of `envbuilder.yaml`."""

    schema: Annotated[int, exactly(SPEC_SCHEMA)] = SPEC_SCHEMA
    spec: Annotated[Spec, At()]
    files: Annotated[tuple[tuple[ImagePath, str], ...], Entries(ordered=True)] = ()
    user: _Account = _Account()
    accept_nvidia_eula: bool = False


def decoded(document: ParsedDocument, file: str) -> Spec:
    """Return the spec of a document.

    Raises:
        InvalidInput: With every fault.
    """
    found = structured(SpecDocument, document, file, check=_contradictions)
    return replace(
        found.spec,
        files=tuple(OwnFile(path=path, source=source) for path, source in found.files),
        sources=replace(found.spec.sources, accept_nvidia_eula=found.accept_nvidia_eula),
        user=User(name=found.user.name, uid=found.user.uid, gid=found.user.gid),
    )


def _contradictions(document: SpecDocument) -> Iterator[Mismatch]:
    """Yield contradictions between fields of a spec that are valid by themselves."""
    spec = document.spec
    if not spec.source_builds:
        for name in spec.build_stage_fields:
            problem = "is for packages under `source_builds:`, and there are none"
            yield Mismatch(path=(name,), problem=problem, hint="list the packages to build under `source_builds:`")


def with_sources(spec: Spec, named: Sources) -> Spec:
    """Return the spec with the command line's sources in place of its own; interpreters are put before its own."""
    own = spec.sources
    merged = Sources(
        registry_mirror=named.registry_mirror or own.registry_mirror,
        mirror=named.mirror or own.mirror,
        debian_mirrors=named.debian_mirrors or own.debian_mirrors,
        debian_keyring=named.debian_keyring,
        debian_allow_expired=named.debian_allow_expired or own.debian_allow_expired,
        ubuntu_mirrors=named.ubuntu_mirrors or own.ubuntu_mirrors,
        ubuntu_keyring=named.ubuntu_keyring,
        ubuntu_allow_expired=named.ubuntu_allow_expired or own.ubuntu_allow_expired,
        index=named.index or own.index,
        python_archives=(*named.python_archives, *own.python_archives),
        layer_caches=named.layer_caches or own.layer_caches,
        publishers=tuple(sorted({**dict(own.publishers), **dict(named.publishers)}.items())),
        accept_nvidia_eula=named.accept_nvidia_eula or own.accept_nvidia_eula,
    )
    return replace(spec, sources=merged)


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
        return tuple(name for name in ("build_tools", "build_requires", "build_env") if getattr(self, name))
