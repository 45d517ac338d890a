"""Values of a lock."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, TypeAlias

from envbuilder.catalog.archives import ArchivePin
from envbuilder.catalog.cuda import LibraryLink
from envbuilder.catalog.environments import BaseKind, CudaProvider, PythonProvider
from envbuilder.core.digests import shortened
from envbuilder.core.field_rules import At, Entries, Omitted, Parsed, Sorted, Unique, When
from envbuilder.core.field_types import (
    Commit,
    DebianFile,
    DebianName,
    DebianSuite,
    Digest,
    DistributionFile,
    DistributionName,
    DistributionVersion,
    FileName,
    FileSize,
    ImageName,
    LayerId,
    LibraryName,
    OptionalDebianVersion,
    OptionalDigest,
    OptionalSha256,
    PythonVersion,
    RowId,
    RuntimeRequirement,
    Sha256,
    within,
)
from envbuilder.core.image_paths import AllowedPath, ImagePath, absolute_path, privileged_allowed
from envbuilder.core.memory_policy import MemoryPolicy, parse
from envbuilder.core.names import LATEST_TIME
from envbuilder.core.versions import Release
from envbuilder.lock.container_settings import UNSET, BuildVariables, ContainerSettings, User, Variables
from envbuilder.oci.images import ImagePin

LOCK_SCHEMA = 2

PrioritizedFiles: TypeAlias = Annotated[
    tuple[tuple[LayerId, Annotated[tuple[Annotated[str, Parsed(absolute_path)], ...], Sorted()]], ...],
    Entries(ordered=True),
]
"""Absolute paths of files, sorted, by the id of their layer."""


class PackageGroup(StrEnum):
    """Layer of a Python distribution, in the order of the layers.

    `profile` holds what the profiles add to the environment. `build` and `own-build` are in no layer: they hold the
    build dependencies of source distributions. `own-build` is for own packages of a spec with build tools or build
    requirements, and `build` for all others.
    """

    CUDA = "cuda"
    FRAMEWORK = "framework"
    PACKAGES = "packages"
    PROFILE = "profile"
    OWN = "own"
    BUILD = "build"
    OWN_BUILD = "own-build"

    @property
    def is_installed(self) -> bool:
        """True if its distributions are in the image."""
        return self not in {PackageGroup.BUILD, PackageGroup.OWN_BUILD}


class ToolName(StrEnum):
    """Name of a program in a lock.

    `uv` is the installer of a Docker build, a release of uv; `probe` and `memory-hook` are files of the image and of a
    release of envbuilder.
    """

    HOOK = "memory-hook"
    PROBE = "probe"
    UV = "uv"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagePin:
    """One file of one Python distribution.

    Attributes:
        name: Normalized name.
        version: Exact version.
        group: Its layer.
        file: File name on the index; its suffix distinguishes wheels from source distributions.
        sha256: 64 hexadecimal digits.
        size: Bytes of the file; 0 if the index does not state it. Large ones have a layer of their own.
    """

    name: DistributionName
    version: DistributionVersion
    group: PackageGroup
    file: DistributionFile
    sha256: Sha256
    size: FileSize = 0

    @property
    def is_wheel(self) -> bool:
        """True for a wheel, False for a source distribution."""
        return self.file.endswith(".whl")

    @property
    def requirement(self) -> str:
        """Its line in a requirements file in hash-checking mode: this exact file."""
        return f"{self.name}=={self.version} --hash=sha256:{self.sha256}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OsPackagePin:
    """One OS package.

    Attributes:
        name: Package name.
        version: Exact version; empty if it is not pinned.
        sha256: Of the .deb file; empty for a package that is inside the base.
        file: Path of the .deb file below the address of a Debian archive, such as `pool/main/b/bash/…`; empty if apt
            downloads it.
        size: Bytes of the .deb file; 0 if unknown.
    """

    name: DebianName
    version: OptionalDebianVersion
    sha256: Sha256 = ""
    file: DebianFile = ""
    size: FileSize = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BasePin:
    """The base of one image.

    Attributes:
        id: Id of the base system in the catalog.
        kind: Registry image, or tree of .deb packages.
        image: `repository:tag` of the image.
        digest: For an image its manifest digest; for a tree the sha256 of its uncompressed tar, which is the diff id
            of its only layer. Empty when the base is not pinned; see `Lock.unpinned`.
        packages: Packages of a tree, sorted by name; empty for an image.
        missing: Suites of updates, such as `bookworm-security`, that the archives did not have when base and OS
            packages were looked up; sorted.
    """

    id: RowId
    kind: BaseKind
    image: str
    digest: OptionalDigest
    packages: tuple[OsPackagePin, ...] = ()
    missing: tuple[DebianSuite, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonPin:
    """The interpreter of one image.

    Attributes:
        version: As in `3.8` for an OS interpreter, full as in `3.8.18` for one from an archive.
        provider: Provider of the interpreter.
        file: Name of the archive; empty for an OS interpreter.
        sha256: Of the archive; empty for an OS interpreter, and for an archive that is not pinned.
    """

    version: PythonVersion
    provider: PythonProvider
    file: Annotated[FileName, When("provider", PythonProvider.ARCHIVE.value)] = ""
    sha256: Annotated[OptionalSha256, When("provider", PythonProvider.ARCHIVE.value)] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaPin:
    """The CUDA libraries of one image.

    Attributes:
        provider: Provider of the libraries.
        cuda: CUDA release of the libraries.
        cudnn: cuDNN release.
        driver: Oldest driver for them.
        sonames: Libraries that TensorFlow opens and must find, sorted.
        links: Second names for libraries.
        archives: Vendor archives that hold the libraries, in the order of the layers.
        require: Nodes on which NVIDIA's container runtime may start the image, as in `nvidia_require`; empty for all.
    """

    provider: CudaProvider
    cuda: Release
    cudnn: Release
    driver: Release
    sonames: tuple[LibraryName, ...]
    links: tuple[LibraryLink, ...]
    archives: Annotated[tuple[ArchivePin, ...], Unique("id")] = ()
    require: RuntimeRequirement = ""


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
class ToolPin:
    """A program of envbuilder or of the build; only the probe and the memory hook are files of the image."""

    name: Annotated[str, Parsed(str, of=ToolName)]
    version: DistributionVersion
    sha256: Sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogPin:
    """Catalog of a team that the environment of a lock comes from.

    Attributes:
        name: Its name.
        digest: Digest of its files.
        commit: Commit of its repository; empty for a directory.
    """

    name: RowId
    digest: Digest
    commit: Commit = ""

    def __str__(self) -> str:
        return f"{self.name}, {f'commit {self.commit[:12]}' if self.commit else f'files {shortened(self.digest)}'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """All pins of one image.

    Attributes:
        name: Name of the image below `envbuilder/`, from the spec; empty for that of the environment. Not part of the
            lock's identity, and not in the image: the same pins are the same image under every name.
        environment: Id of the environment.
        catalog: Catalog of a team that has this environment; None for that of envbuilder.
        summary: The environment's summary, for labels and comments.
        framework: Distribution name of TensorFlow.
        framework_version: Its version.
        base: The base.
        python: The interpreter.
        cuda: The CUDA libraries; None for a CPU image.
        user: User in the image.
        memory: Memory policy.
        env: Environment variables, sorted by name.
        settings: Settings of containers, as in the spec.
        os_packages: OS packages added to the base, sorted by name.
        build_os_packages: OS packages of the stage that builds own packages, on top of `os_packages`, sorted by name;
            in no layer.
        build_env: Environment variables of the builds of that stage, sorted by name; not in the image.
        profiles: Ids of the profiles whose tools are in the image, sorted.
        packages: Sorted by group, then name; one file per distribution and group.
        files: Own files, sorted by path.
        prioritized_files: For layers by their ids, files that are fetched first in the format `estargz`, sorted.
        allow: As in the spec.
        tools: Programs used by the build, sorted by name.
        deviations: Differences between the image and the environment that the wheel was compiled in.
        refused: Ids of preferred bases that were unavailable when the lock was made, in order of preference.
        sources: Documents that the environment is based on.
        inputs: Inputs of the lock, field by field, for `lock --check`; sorted by field.
        epoch: Creation time of the image, in seconds since 1970.
        image: The exact image of the lock; None until it is assembled. Not part of the lock's identity, and not in the
            image itself.
    """

    name: ImageName = ""
    environment: RowId
    catalog: CatalogPin | None = None
    summary: str
    framework: DistributionName
    framework_version: DistributionVersion
    base: BasePin
    python: PythonPin
    cuda: CudaPin | None = None
    user: User
    memory: Annotated[MemoryPolicy, Parsed(parse)]
    env: Variables
    settings: Annotated[ContainerSettings, At()] = UNSET
    os_packages: tuple[OsPackagePin, ...]
    build_os_packages: tuple[OsPackagePin, ...] = ()
    build_env: BuildVariables = ()
    profiles: Annotated[tuple[RowId, ...], Sorted()] = ()
    packages: Annotated[tuple[PackagePin, ...], Unique("group", "name")]
    files: Annotated[tuple[OwnFile, ...], Unique("path")] = ()
    prioritized_files: PrioritizedFiles = ()
    allow: tuple[AllowedPath, ...] = ()
    tools: Annotated[tuple[ToolPin, ...], Unique("name")]
    deviations: tuple[str, ...]
    refused: tuple[RowId, ...]
    sources: tuple[str, ...]
    inputs: Annotated[tuple[tuple[str, str], ...], Entries()]
    epoch: Annotated[int, within(0, LATEST_TIME)]
    image: ImagePin | None = None

    @property
    def unpinned(self) -> tuple[str, ...]:
        """Ingredients named without a digest, lowest layer first; a lock with any cannot be built."""
        python = self.python
        added = (*self.os_packages, *self.build_os_packages)
        loose = [pin.name for pin in added if not pin.version or not self.base.digest]
        return (
            *((f"base {self.base.id}",) if not self.base.digest else ()),
            *((f"OS packages {', '.join(loose)}",) if loose else ()),
            *(
                (f"interpreter archive of Python {python.version}",)
                if python.provider is PythonProvider.ARCHIVE and not python.sha256
                else ()
            ),
        )

    @property
    def archives(self) -> tuple[ArchivePin, ...]:
        """Vendor archives of its CUDA libraries, in the order of the layers."""
        return self.cuda.archives if self.cuda else ()

    @property
    def differences(self) -> tuple[str, ...]:
        """Stated differences of the image: its deviations, and missing updates of its distribution."""
        lacks = (f"no {suite}: the archive did not have it when the lock was made" for suite in self.base.missing)
        return (*self.deviations, *lacks)

    @property
    def unpacks_os_packages(self) -> bool:
        """True if its OS packages are files that envbuilder unpacks, instead of apt in the base."""
        return bool(self.os_packages) and all(pin.file for pin in self.os_packages)

    @property
    def all_os_packages(self) -> tuple[OsPackagePin, ...]:
        """OS packages of the base, of the image, and of the stage that builds own packages."""
        return (*self.base.packages, *self.os_packages, *self.build_os_packages)

    @property
    def below_own(self) -> tuple[PackagePin, ...]:
        """Distributions of the environment itself, with which own packages may be built."""
        added = {PackageGroup.PROFILE, PackageGroup.OWN}
        return tuple(pin for pin in self.packages if pin.group.is_installed and pin.group not in added)

    @property
    def has_build_stage(self) -> bool:
        """True if own packages are built in a stage of their own, with the tools of the group `own-build`."""
        return any(pin.group is PackageGroup.OWN_BUILD for pin in self.packages)

    @property
    def build_stage(self) -> Lock:
        """The same lock with the OS packages of the build stage in the image: the base of that stage."""
        added = sorted((*self.os_packages, *self.build_os_packages), key=lambda pin: pin.name)
        return replace(self, os_packages=tuple(added), build_os_packages=(), image=None)

    @property
    def has_build_base(self) -> bool:
        """True if the build stage has a base of its own, with OS packages that the image does not get."""
        return bool(self.build_os_packages) and self.build_stage.unpacks_os_packages

    @property
    def allowed_privileged(self) -> frozenset[str]:
        """Relative paths of programs that keep their set-user-ID and set-group-ID bits."""
        return privileged_allowed(self.allow)

    def tool(self, name: str) -> ToolPin | None:
        """Return one of its tools; None if the lock does not name it."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def group(self, group: PackageGroup) -> tuple[PackagePin, ...]:
        """Return the pins of one layer, sorted by name."""
        return tuple(pin for pin in self.packages if pin.group is group)
