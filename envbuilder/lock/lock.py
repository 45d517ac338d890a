"""What was asked for (spec), what exactly it resolved to (lock), and how two locks differ."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Annotated, TypeAlias

from packaging.version import Version

from envbuilder.catalog.cuda import LibraryLink
from envbuilder.catalog.environments import BaseKind, CudaProvider, PythonProvider
from envbuilder.core.field_types import (
    AllowedPath,
    DebianFile,
    DebianName,
    DebianSuite,
    DistributionFile,
    DistributionName,
    DistributionVersion,
    FileName,
    FileSize,
    ImageName,
    ImagePath,
    LibraryName,
    OptionalDebianVersion,
    OptionalDigest,
    OptionalSha256,
    PythonVersion,
    RowId,
    Sha256,
    within,
)
from envbuilder.core.image_paths import privileged_allowed
from envbuilder.core.memory_policy import ALL, VARIABLE, MemoryPolicy, parse
from envbuilder.core.names import LARGEST_ID, LATEST_TIME, account_name, variable_problem
from envbuilder.core.structure import Entries, Omitted, Parsed, Unique, When
from envbuilder.core.versions import Release
from envbuilder.oci.images import ImagePin

LOCK_SCHEMA = 2


def variable_name(text: str) -> str:
    """Return the name of an environment variable that an image may set, unchanged.

    Raises:
        ValueError: It is none, or has another place in a spec.
    """
    if problem := "is set by `memory:`" if text == VARIABLE else variable_problem(text):
        raise ValueError(problem)
    return text


AccountId: TypeAlias = Annotated[int, within(1, LARGEST_ID, "images run as an ordinary user")]


class PackageGroup(StrEnum):
    """Which layer a Python distribution belongs to, in the order of the layers.

    `build` is in no layer: it holds what source distributions are built with.
    """

    CUDA = "cuda"
    FRAMEWORK = "framework"
    PACKAGES = "packages"
    OWN = "own"
    BUILD = "build"


class ToolName(StrEnum):
    """Every program that a lock may name.

    `uv` is the installer of a Docker build, a release of uv; `probe` and `memory-hook` are files of the image and of a
    release of envbuilder.
    """

    HOOK = "memory-hook"
    PROBE = "probe"
    UV = "uv"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """The account that the image runs as."""

    name: Annotated[str, Parsed(account_name)]
    uid: AccountId
    gid: AccountId


DEFAULT_USER = User(name="app", uid=1000, gid=1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where ingredients may be fetched from here; never part of a lock.

    Attributes:
        registry_mirror: Registry that serves the base images instead of their own, such as `localhost:5000`.
        debian_mirror: Address of a Debian archive; empty means what this host uses.
        debian_keyring: File with the keys of that archive; empty means Debian's own. Never from a spec.
        debian_allow_expired: Take suites whose time is over, as archives and snapshots have them.
        index: Address of a package index; empty means uv's own configuration.
        python_archives: Interpreter archives that the user names, as paths.
    """

    registry_mirror: str = ""
    debian_mirror: str = ""
    debian_keyring: str = ""
    debian_allow_expired: bool = False
    index: str = ""
    python_archives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFile:
    """A file of the user's own in an image; in a spec it may stand for a whole folder, before that is looked into.

    Attributes:
        path: Absolute path in the image.
        source: Where it lies on this machine; empty in a lock.
        sha256: 64 hexadecimal digits of its content; empty in a spec that nobody looked into.
        size: Bytes.
        executable: Whether everybody may run it.
    """

    path: ImagePath
    source: Annotated[str, Omitted()] = ""
    sha256: Sha256 = ""
    size: FileSize = 0
    executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What a team wrote in `envbuilder.yaml`; the defaults are what `build ENV` uses without a file.

    Attributes:
        environment: Id of the row.
        packages: Own Python packages, as PEP 508 requirements, sorted.
        apt: Own OS packages, sorted.
        source_builds: Own packages that may be built from source, sorted.
        cutoff: Own packages uploaded after this day are not considered; None means the row's day.
        tensorflow: Patch release; None means the row's.
        python: Interpreter version; None means that of the chosen base.
        base: Id of the base to use; empty means the row's order of preference.
        env: Environment variables, sorted by name.
        files: Own files, sorted by path.
        allow: Absolute paths, sorted: files that own packages may bring although they hide or replace a file, and
            programs of the system that keep their set-user-ID and set-group-ID bits.
        user: Account in the image.
        memory: Memory policy.
        sources: Where to fetch from here.
        name: Name of the image below `envbuilder/`; empty means the default of the command that builds.
    """

    environment: str
    packages: tuple[str, ...] = ()
    apt: tuple[str, ...] = ()
    source_builds: tuple[str, ...] = ()
    cutoff: date | None = None
    tensorflow: Version | None = None
    python: Release | None = None
    base: str = ""
    env: tuple[tuple[str, str], ...] = ()
    files: tuple[OwnFile, ...] = ()
    allow: tuple[str, ...] = ()
    user: User = DEFAULT_USER
    memory: MemoryPolicy = ALL
    sources: Sources = Sources()
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagePin:
    """One file of one Python distribution.

    Attributes:
        name: Normalized name.
        version: Exact version.
        group: Its layer.
        file: File name on the index; its suffix tells a wheel from a source distribution.
        sha256: 64 hexadecimal digits.
        size: Bytes of the file; 0 when the index did not say. Large ones have a layer of their own.
    """

    name: DistributionName
    version: DistributionVersion
    group: PackageGroup
    file: DistributionFile
    sha256: Sha256
    size: FileSize = 0

    @property
    def is_wheel(self) -> bool:
        """Whether the file is a wheel; a source distribution otherwise."""
        return self.file.endswith(".whl")


@dataclass(frozen=True, slots=True, kw_only=True)
class OsPackagePin:
    """One OS package.

    Attributes:
        name: Package name.
        version: Exact version; empty when it is not pinned.
        sha256: Of the .deb file; empty for a package that is inside the base.
        file: Path of the .deb file below the address of a Debian archive, such as `pool/main/b/bash/…`; empty for one
            that apt fetches.
        size: Bytes of the .deb file; 0 when unknown.
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
        kind: Registry image or Debian tree.
        image: `repository:tag` that holds it.
        digest: For an image its manifest digest; for a Debian tree the sha256 of its uncompressed tar, which is
            the diff id of its only layer. Empty when the base is not pinned; see `Lock.unpinned`.
        packages: What a Debian tree holds, sorted by name; empty for an image.
        missing: Suites of updates, such as `bookworm-security`, that the Debian archive did not have when base and OS
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
        version: As in `3.8` when it comes from the OS, full as in `3.8.18` when it comes from an archive.
        provider: Where it comes from.
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
        provider: Where they come from.
        cuda: CUDA release of the libraries.
        cudnn: cuDNN release.
        driver: Oldest driver for them.
        sonames: What TensorFlow opens and must find, sorted.
        links: Second names for libraries.
    """

    provider: CudaProvider
    cuda: Release
    cudnn: Release
    driver: Release
    sonames: tuple[LibraryName, ...]
    links: tuple[LibraryLink, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolPin:
    """A program of ours or of the build; only the probe and the memory hook are files of the image."""

    name: Annotated[str, Parsed(str, of=ToolName)]
    version: DistributionVersion
    sha256: Sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """All pins of one image.

    Attributes:
        name: Name of the image below `envbuilder/`, from the spec; empty for that of the environment. No part of the
            lock's identity, and not in the image: the same pins are the same image under every name.
        environment: Id of the row.
        summary: The row's line, for labels and comments.
        framework: Distribution name of TensorFlow.
        framework_version: Its version.
        base: The base.
        python: The interpreter.
        cuda: The CUDA libraries; None for a CPU image.
        user: Account in the image.
        memory: Memory policy.
        env: Environment variables, sorted by name.
        os_packages: OS packages added to the base, sorted by name.
        packages: Sorted by group, then name; one file per distribution and group.
        files: Own files, sorted by path.
        allow: As in the spec.
        tools: Programs used by the build, sorted by name.
        deviations: In which the image differs from what the wheel was compiled with.
        refused: Ids of preferred bases that could not be had when the lock was made, in order of preference.
        sources: Documents that the row rests on.
        inputs: What the lock was made from, field by field, for `lock --check`; sorted by field.
        epoch: Seconds since 1970: when the image counts as created.
        image: The image that it becomes, bit by bit; None as long as nobody has assembled it. No part of the lock's
            identity, and not in the image itself.
    """

    name: ImageName = ""
    environment: RowId
    summary: str
    framework: DistributionName
    framework_version: DistributionVersion
    base: BasePin
    python: PythonPin
    cuda: CudaPin | None = None
    user: User
    memory: Annotated[MemoryPolicy, Parsed(parse)]
    env: Annotated[tuple[tuple[Annotated[str, Parsed(variable_name)], str], ...], Entries(ordered=True)]
    os_packages: tuple[OsPackagePin, ...]
    packages: Annotated[tuple[PackagePin, ...], Unique("group", "name")]
    files: Annotated[tuple[OwnFile, ...], Unique("path")] = ()
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
        """Ingredients that are named without their digest, lowest layer first; a lock with any cannot be built."""
        python = self.python
        loose = [pin.name for pin in self.os_packages if not pin.version or not self.base.digest]
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
    def differences(self) -> tuple[str, ...]:
        """What is told of the image: its deviations, and updates of Debian that it lacks."""
        lacks = (
            f"no {suite}: the Debian archive did not have it when the lock was made" for suite in self.base.missing
        )
        return (*self.deviations, *lacks)

    @property
    def unpacks_os_packages(self) -> bool:
        """Whether its OS packages are files that we unpack, instead of apt in the base."""
        return bool(self.os_packages) and all(pin.file for pin in self.os_packages)

    @property
    def allowed_privileged(self) -> frozenset[str]:
        """Relative paths of programs that keep their set-user-ID and set-group-ID bits."""
        return privileged_allowed(self.allow)

    def tool(self, name: str) -> ToolPin | None:
        """One of its tools; None for a lock that was made without it."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def group(self, group: PackageGroup) -> tuple[PackagePin, ...]:
        """The pins of one layer, sorted by name."""
        return tuple(pin for pin in self.packages if pin.group is group)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One difference between two locks, or between a lock and what it should be.

    Attributes:
        field: What changed, such as `packages.own.six`.
        old: Before; empty when it was not there.
        new: After; empty when it is gone.
    """

    field: str
    old: str
    new: str

    def __str__(self) -> str:
        if not self.old:
            return f"+ {self.field} {self.new}"
        if not self.new:
            return f"- {self.field} {self.old}"
        return f"~ {self.field} {self.old} -> {self.new}"
