"""Values of a spec."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Annotated, TypeAlias

from packaging.version import Version

from envbuilder.catalog.environments import BaseKind
from envbuilder.catalog.references import CatalogReference, catalog_reference
from envbuilder.core.field_rules import At, Entries, Omitted, Parsed, Sorted
from envbuilder.core.field_types import (
    AllowedPath,
    DistributionName,
    FileSize,
    ImageName,
    ImagePath,
    LayerId,
    RowId,
    Sha256,
    within,
)
from envbuilder.core.image_paths import absolute_path
from envbuilder.core.memory_policy import ALL, VARIABLE, MemoryPolicy, plain_policy
from envbuilder.core.names import (
    LARGEST_ID,
    account_name,
    os_package,
    pep440,
    requirement,
    requirement_name,
    variable_problem,
)
from envbuilder.core.references import registry_address, registry_repository
from envbuilder.core.versions import Release
from envbuilder.lock.container_settings import UNSET, ContainerSettings
from envbuilder.lock.publisher_places import publisher_name, publisher_place
from envbuilder.lock.resolve.tensorflow_distributions import OTHER_BUILDS


def _variable_name(text: str) -> str:
    """Return the name of an environment variable that an image may set, unchanged.

    Raises:
        ValueError: It is not a name, or belongs into another field of a spec.
    """
    if problem := "is set by `memory:`" if text == VARIABLE else variable_problem(text):
        raise ValueError(problem)
    return text


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


def _addresses(value: object) -> tuple[str, ...]:
    """Return one address, or several, as a tuple.

    Raises:
        ValueError: It is neither a text nor a list of texts.
    """
    several = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str) and each for each in several):
        raise ValueError("must be an address, or a list of addresses")
    return tuple(several)


def layer_caches(value: object) -> tuple[str, ...]:
    """Return one repository of a registry, or several, as a tuple.

    Raises:
        ValueError: One of them is not `HOST/NAME`. The message does not repeat credentials.
    """
    return tuple(registry_repository(text) for text in _addresses(value))


AccountId: TypeAlias = Annotated[int, within(1, LARGEST_ID, "images run as an ordinary user")]
Places: TypeAlias = Annotated[
    tuple[tuple[Annotated[str, Parsed(publisher_name)], Annotated[str, Parsed(publisher_place)]], ...],
    Entries(ordered=True),
]
Variables: TypeAlias = Annotated[tuple[tuple[Annotated[str, Parsed(_variable_name)], str], ...], Entries(ordered=True)]

PrioritizedFiles: TypeAlias = Annotated[
    tuple[tuple[LayerId, Annotated[tuple[Annotated[str, Parsed(absolute_path)], ...], Sorted()]], ...],
    Entries(ordered=True),
]
"""Absolute paths of files, sorted, by the id of their layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """User that the image runs as."""

    name: Annotated[str, Parsed(account_name)]
    uid: AccountId
    gid: AccountId


DEFAULT_USER = User(name="app", uid=1000, gid=1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageArchives:
    """Archives of the .deb packages of one distribution.

    Attributes:
        mirrors: Their addresses, in the order in which they are asked; empty for those of this host.
        keyring: File with the keys that sign them; empty for the distribution's own. Never from a spec.
        allow_expired: Accept suites whose Release file has expired, as in archives of old suites and snapshots.
    """

    mirrors: tuple[str, ...]
    keyring: str
    allow_expired: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Sources of ingredients on this machine; never part of a lock.

    Attributes:
        registry_mirror: Registry that serves the base images instead of the public ones, such as `localhost:5000`.
        mirror: Repository of a registry with files of locks, for those that their sources no longer have, such as
            `localhost:5000/team/tf`; empty for that of this host.
        debian_mirrors: Addresses of Debian archives, asked in this order; empty for those of this host.
        debian_keyring: File with the keys that sign them; empty for Debian's own. Never from a spec.
        debian_allow_expired: Accept suites of Debian whose Release file has expired.
        ubuntu_mirrors: Addresses of Ubuntu archives, likewise.
        ubuntu_keyring: File with the keys that sign them; empty for Ubuntu's own. Never from a spec.
        ubuntu_allow_expired: Accept suites of Ubuntu whose Release file has expired.
        index: Address of a package index; empty for uv's own configuration.
        python_archives: Interpreter archives that the user names, as paths.
        layer_caches: Repositories, as `HOST/NAME`, whose statements about layers are trusted; in order.
        publishers: Where archives of vendors come from instead of their publishers: pairs of a publisher's id, or
            `*` for every other one, and a base URL or a directory; sorted.
        accept_nvidia_eula: Whether the user accepts NVIDIA's license of the libraries in those archives.
    """

    registry_mirror: Annotated[str, Parsed(registry_address)] = ""
    mirror: Annotated[str, Parsed(registry_repository)] = ""
    debian_mirrors: Annotated[tuple[str, ...], At("debian_mirror"), Parsed(_addresses, of=object)] = ()
    debian_keyring: Annotated[str, Omitted()] = ""
    debian_allow_expired: bool = False
    ubuntu_mirrors: Annotated[tuple[str, ...], At("ubuntu_mirror"), Parsed(_addresses, of=object)] = ()
    ubuntu_keyring: Annotated[str, Omitted()] = ""
    ubuntu_allow_expired: bool = False
    index: str = ""
    python_archives: tuple[str, ...] = ()
    layer_caches: Annotated[tuple[str, ...], At("layer_cache"), Parsed(layer_caches, of=object)] = ()
    publishers: Places = ()
    accept_nvidia_eula: Annotated[bool, Omitted()] = False

    def archives(self, kind: BaseKind) -> PackageArchives:
        """Return the archives of the packages of a base; those of Debian for a registry image."""
        if kind is BaseKind.UBUNTU:
            return PackageArchives(
                mirrors=self.ubuntu_mirrors, keyring=self.ubuntu_keyring, allow_expired=self.ubuntu_allow_expired
            )
        return PackageArchives(
            mirrors=self.debian_mirrors, keyring=self.debian_keyring, allow_expired=self.debian_allow_expired
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFile:
    """A file of the user in an image; in a spec, it may stand for a whole directory until that is expanded.

    Attributes:
        path: Absolute path in the image.
        source: Its path on this machine; empty in a lock.
        sha256: 64 hexadecimal digits of its content; empty in a spec whose files were not read yet.
        size: Bytes.
        executable: Whether all users may execute it.
    """

    path: ImagePath
    source: Annotated[str, Omitted()] = ""
    sha256: Sha256 = ""
    size: FileSize = 0
    executable: bool = False


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
    sources: Sources = Sources()
    profiles: Annotated[tuple[RowId, ...], Sorted()] = ()
    name: ImageName = ""
    catalogs: tuple[Annotated[CatalogReference, Parsed(catalog_reference)], ...] = ()
    extends: str = ""

    @property
    def has_build_stage(self) -> bool:
        """True if own packages that have no wheel are built in a stage of their own."""
        return bool(self.source_builds and (self.build_tools or self.build_requires))
