"""Environments of the catalog, their bases and evidence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from typing import Annotated, TypeAlias

from packaging.version import Version

from envbuilder.catalog.archives import ArchiveFacts, VendorArchive
from envbuilder.catalog.cuda import CudaFacts, CudaNeed, LibraryLink, LibrarySet
from envbuilder.catalog.driver_floors import driver_floor
from envbuilder.catalog.evidence import Evidence, Grade, Unproven
from envbuilder.catalog.gpus import VendorBuild
from envbuilder.catalog.keras import KerasFacts
from envbuilder.catalog.profiles import Profile
from envbuilder.catalog.references import TeamCatalog
from envbuilder.catalog.releases import PublishedRelease
from envbuilder.catalog.sources import Advisory, SourceList
from envbuilder.core.field_rules import At, Named, NotEmpty, Omitted, Parsed, Sorted, When
from envbuilder.core.field_types import (
    DistributionName,
    OptionalDigest,
    OsPackage,
    Sha256,
    TaggedImage,
    WheelVersion,
)
from envbuilder.core.names import requirement
from envbuilder.core.references import normalized
from envbuilder.core.versions import Release

OLDEST_PYTHON = Release("3.6")
"""Oldest interpreter that uv installs for (uv 0.13, 2026-11); there are wheels for older ones, but no installer."""


class PythonProvider(StrEnum):
    """Provider of the interpreter."""

    OS = "os"
    ARCHIVE = "archive"


class CudaProvider(StrEnum):
    """Provider of the CUDA libraries."""

    NONE = "none"
    BASE = "base"
    WHEELS = "wheels"
    OS = "os"
    ARCHIVE = "archive"


class BaseKind(StrEnum):
    """Kind of a base: a registry image, or a tree of the .deb packages of a distribution."""

    IMAGE = "image"
    DEBIAN = "debian"
    UBUNTU = "ubuntu"

    @property
    def is_tree(self) -> bool:
        """True for a tree of .deb packages."""
        return self is not BaseKind.IMAGE


class PublicationState(StrEnum):
    """Availability of a base at its publisher."""

    PUBLISHED = "published"
    WITHDRAWN = "withdrawn"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """Availability of a base, with its source.

    Attributes:
        state: Whether it is still published.
        date: Day on which it was seen to be published, was withdrawn, or became uncertain.
        note: The observation, without a final period.
    """

    state: PublicationState
    date: date
    note: str
    sources: SourceList

    def __str__(self) -> str:
        match self.state:
            case PublicationState.PUBLISHED:
                return f"published, seen {self.date}: {self.note}"
            case PublicationState.WITHDRAWN:
                return f"no longer published since {self.date}: {self.note}"
            case PublicationState.UNKNOWN:
                return f"may no longer be published: {self.note}"


NamedAdvisory: TypeAlias = Annotated[Advisory, Named("advisories")]
_Pythons: TypeAlias = Annotated[tuple[Release, ...], Sorted()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A bound on a package that the resolver must keep.

    Attributes:
        requirement: PEP 508 requirement without markers, such as `protobuf<3.21`.
    """

    requirement: Annotated[str, Parsed(requirement)]
    advisory: NamedAdvisory


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRelease:
    """Another patch release of the same minor release, which users can request.

    Attributes:
        package: Distribution name on the index; empty in a document for that of the row.
        pythons: Interpreters for which the index has a wheel of this version, oldest first.
        advisory: The trap that affects this release and not the row's; None if none is known.
    """

    package: Annotated[str, Parsed(normalized)] = ""
    version: WheelVersion
    pythons: _Pythons
    advisory: NamedAdvisory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkWheel:
    """The TensorFlow wheel of a row.

    Attributes:
        pythons: Interpreters for which the index has a wheel of this version, oldest first.
        others: Other patch releases of the same minor release, ascending.
        glibc: Newest glibc symbol version that its libraries require.
        glibcxx: Newest libstdc++ symbol version that its libraries require.
        needs_avx: Whether its code uses AVX without checking the processor first.
        measured: sha256 of the wheel that the figures were read from; empty when no wheel was measured.
        sources: Where the figures were read or measured.
    """

    package: DistributionName
    version: WheelVersion
    pythons: _Pythons
    others: tuple[OtherRelease, ...] = ()
    glibc: Release
    glibcxx: Release
    needs_avx: bool = True
    measured: Sha256 = ""
    sources: SourceList


_OF_IMAGE = When("kind", BaseKind.IMAGE.value)
_MAY_BE_OF_IMAGE = When("kind", BaseKind.IMAGE.value, required=False)
_OF_TREE = When("kind", BaseKind.DEBIAN.value, BaseKind.UBUNTU.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseSystem:
    """An operating system that an image can start from.

    Attributes:
        id: Stable name, such as `debian-bookworm`.
        kind: Registry image, or tree of .deb packages.
        image: `repository:tag` for an image; empty for a tree.
        digest: Digest of the image if it is known; empty if `lock` has to look it up.
        suite: Suite of the distribution, such as `bookworm`; empty for an image.
        components: Its components, such as `main` and `non-free`.
        packages: Packages of the tree beside the essential ones, sorted.
        glibcxx: Newest symbol version of its C++ library.
        python: Version of the OS interpreter that it has or can install.
        python_package: OS package of that interpreter; empty when it is part of the base.
        cuda: CUDA release inside; None without CUDA.
        cudnn: cuDNN release inside; None without.
        publication: Whether it is still published.
    """

    id: str
    kind: BaseKind
    image: Annotated[TaggedImage, _OF_IMAGE] = ""
    digest: Annotated[OptionalDigest, _MAY_BE_OF_IMAGE] = ""
    suite: Annotated[str, _OF_TREE] = ""
    components: Annotated[tuple[str, ...], _OF_TREE] = ()
    packages: Annotated[tuple[OsPackage, ...], Sorted(), _OF_TREE] = ()
    glibc: Release
    glibcxx: Release
    python: Release
    python_package: Annotated[str, _MAY_BE_OF_IMAGE] = ""
    cuda: Annotated[Release | None, _MAY_BE_OF_IMAGE] = None
    cudnn: Annotated[Release | None, _MAY_BE_OF_IMAGE] = None
    publication: Publication
    sources: SourceList


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """A difference between the image and the environment that the wheel was compiled in.

    Attributes:
        why: Why it is acceptable, and its cost.
    """

    what: str
    why: str
    sources: SourceList


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseChoice:
    """One combination of system, interpreter and CUDA libraries for an environment.

    Attributes:
        libraries: The library set if the libraries do not come from the base; else None.
        os_packages: OS packages to add, `name` or `name=version`, sorted.
        source_builds: Packages without a suitable wheel for this interpreter only, in addition to the row's, sorted.
        links: Library links that the row needs on this base.
        deviations: Differences from the environment that the wheel was compiled in.
    """

    system: Annotated[BaseSystem, At("base"), Named("bases")]
    python: Release
    python_provider: Annotated[PythonProvider, At("python_from")]
    cuda_provider: Annotated[CudaProvider, At("cuda_from")]
    libraries: Annotated[LibrarySet, Named("libraries")] | None = None
    os_packages: Annotated[tuple[OsPackage, ...], Sorted()] = ()
    source_builds: Annotated[tuple[DistributionName, ...], Sorted()] = ()
    links: tuple[LibraryLink, ...] = ()
    deviations: tuple[Deviation, ...] = ()

    @property
    def archives(self) -> tuple[VendorArchive, ...]:
        """Vendor archives that its CUDA libraries are in, whose license has to be accepted."""
        return tuple(use.archive for use in self.libraries.archives) if self.libraries else ()

    @property
    def build_options(self) -> str:
        """Options that `build` and `lock` need on this base, each after a space."""
        return " --accept-nvidia-eula" if self.archives else ""

    @property
    def cuda(self) -> Release | None:
        """CUDA release of the libraries in the image; None for a CPU image."""
        return self.libraries.cuda if self.libraries else self.system.cuda

    @property
    def cudnn(self) -> Release | None:
        """Release of cuDNN in the image; None for a CPU image. A pinned OS package takes precedence over the base's."""
        for package in self.os_packages:
            name, _, version = package.partition("=")
            if name.startswith("libcudnn") and version:
                return Release(".".join(version.partition("-")[0].split(".")[:3]))
        return self.libraries.cudnn if self.libraries else self.system.cudnn


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """One known-good row of the catalog.

    Attributes:
        id: The name that users type, such as `tf-2.4-cuda11.0`.
        summary: One line for `list`.
        framework: The TensorFlow wheel.
        cuda: Its CUDA requirements; None for a CPU row.
        cutoff: Packages uploaded after this day are ignored.
        upgraded: Whether that day was moved on purpose.
        constraints: Bounds with their reasons, sorted by requirement.
        additions: Packages that TensorFlow needs but does not require, with the reasons, sorted by requirement.
        source_builds: Packages without a suitable wheel, which may be built from source, sorted.
        advisories: Further traps that affect this row, sorted by id.
        bases: In order of preference; at least one.
        evidence: Proofs that the row works, weakest first; at least one.
        unproven: Proofs that were tried without success, weakest first.
        sources: Where the row was read or measured.
    """

    id: str
    summary: str
    framework: Annotated[FrameworkWheel, At("tensorflow")]
    cuda: CudaNeed | None = None
    cutoff: date
    constraints: Annotated[tuple[Constraint, ...], Sorted(by="requirement")] = ()
    additions: Annotated[tuple[Constraint, ...], Sorted(by="requirement")] = ()
    source_builds: Annotated[tuple[DistributionName, ...], Sorted()] = ()
    advisories: Annotated[tuple[NamedAdvisory, ...], Sorted(by="id")] = ()
    bases: Annotated[tuple[BaseChoice, ...], NotEmpty()]
    evidence: Annotated[tuple[Evidence, ...], Omitted()] = ()
    unproven: Annotated[tuple[Unproven, ...], Omitted()] = ()
    sources: SourceList
    upgraded: Annotated[bool, Omitted()] = False

    @property
    def pythons(self) -> tuple[Release, ...]:
        """Interpreters of images: those with a wheel that the installer supports."""
        return tuple(python for python in self.framework.pythons if python >= OLDEST_PYTHON)

    @property
    def default_python(self) -> Release:
        """Interpreter of the preferred base."""
        return self.bases[0].python

    @property
    def proven(self) -> Grade:
        """Strongest evidence."""
        return max((entry.grade for entry in self.evidence), key=lambda grade: grade.rank, default=Grade.DOCUMENTED)

    def with_python(self, choice: BaseChoice, python: Release) -> BaseChoice:
        """Return a base with another interpreter, for which other packages may have no wheel."""
        if python == choice.python:
            return choice
        sources = {name for other in self.bases if other.python == python for name in other.source_builds}
        return replace(choice, python=python, source_builds=tuple(sorted(sources)))

    def release(self, version: Version) -> Environment | None:
        """Return the same row with another patch release; None if the row does not list it.

        The figures of the row's own wheel are kept; every base states that as a deviation, since the other is not
        measured.
        """
        if version == self.framework.version:
            return self
        other = next((other for other in self.framework.others if other.version == version), None)
        if other is None:
            return None
        note = Deviation(
            what=f"TensorFlow is {other.version} instead of {self.framework.version}",
            why=f"it was asked for; what the row says of the wheel was read from {self.framework.version}"
            + (f". Known trap: {other.advisory.title}" if other.advisory else ""),
            sources=self.framework.sources,
        )
        wheel = replace(
            self.framework, package=other.package, version=other.version, pythons=other.pythons, others=(), measured=""
        )
        bases = tuple(replace(choice, deviations=(*choice.deviations, note)) for choice in self.bases)
        summary = self.summary.replace(str(self.framework.version), str(other.version))
        return replace(self, summary=summary, framework=wheel, bases=bases, evidence=(), unproven=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """All matrices, loaded and checked against each other.

    Attributes:
        environments: Sorted by TensorFlow version, GPU rows before CPU rows of the same version.
        bases: By id.
        libraries: By id.
        advisories: By id.
        cuda: Driver and GPU tables.
        archives: Vendor archives of CUDA libraries, and their publishers.
        keras: Compatibility of standalone Keras with TensorFlow.
        releases: Days on which the minor releases of TensorFlow were published.
        vendor_builds: NVIDIA's own builds, ascending by TensorFlow.
        profiles: Tools that specs add to environments, in file order.
        teams: Catalogs of teams that some of the environments come from, in order of precedence, highest last.
    """

    environments: tuple[Environment, ...]
    bases: tuple[BaseSystem, ...]
    libraries: tuple[LibrarySet, ...]
    advisories: tuple[Advisory, ...]
    cuda: CudaFacts
    archives: ArchiveFacts = field(default_factory=ArchiveFacts)
    keras: KerasFacts = field(default_factory=KerasFacts)
    releases: tuple[PublishedRelease, ...] = ()
    vendor_builds: tuple[VendorBuild, ...] = ()
    profiles: tuple[Profile, ...] = ()
    teams: tuple[TeamCatalog, ...] = ()

    def origin(self, name: str) -> TeamCatalog | None:
        """Return the catalog of a team that defines an environment; None for one of envbuilder."""
        return next((team for team in reversed(self.teams) if name in team.environments), None)

    def environment(self, name: str) -> Environment | None:
        """Return the environment with this id; None if there is none."""
        return next((row for row in self.environments if row.id == name), None)

    def driver_floor(self, environment: Environment, choice: BaseChoice) -> Release | None:
        """Return the oldest driver for this environment on this base; None for a CPU row."""
        if environment.cuda is None:
            return None
        return driver_floor(self.cuda, choice.cuda or environment.cuda.compiled)
