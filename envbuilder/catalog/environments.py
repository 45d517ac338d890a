"""What the catalog knows: environments, the bases that they can lie on, and how they are known to work."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum

from packaging.version import Version

from envbuilder.catalog.cuda import CudaFacts, CudaNeed, LibraryLink, LibrarySet
from envbuilder.catalog.evidence import Evidence, Grade, Unproven
from envbuilder.catalog.keras import KerasFacts
from envbuilder.catalog.sources import Advisory, Source
from envbuilder.catalog.vendor_builds import VendorBuild
from envbuilder.core.versions import Release

OLDEST_PYTHON = Release("3.6")
"""Oldest interpreter that uv installs for (uv 0.13, 2026-11); older wheels exist, but nothing of ours installs them."""


class PythonProvider(StrEnum):
    """Where the interpreter comes from."""

    OS = "os"
    ARCHIVE = "archive"


class CudaProvider(StrEnum):
    """Where the CUDA libraries come from."""

    NONE = "none"
    BASE = "base"
    WHEELS = "wheels"
    OS = "os"


class BaseKind(StrEnum):
    """What a base is made of."""

    IMAGE = "image"
    DEBIAN = "debian"


class PublicationState(StrEnum):
    """Whether a base can be fetched from where it was published."""

    PUBLISHED = "published"
    WITHDRAWN = "withdrawn"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What is known about the availability of a base.

    Attributes:
        state: Whether it is still published.
        date: When it was seen to be published, was withdrawn, or became uncertain.
        note: The observation, without a final period.
        sources: Where this is known from.
    """

    state: PublicationState
    date: date
    note: str
    sources: tuple[Source, ...]

    def __str__(self) -> str:
        match self.state:
            case PublicationState.PUBLISHED:
                return f"published, seen {self.date}: {self.note}"
            case PublicationState.WITHDRAWN:
                return f"no longer published since {self.date}: {self.note}"
            case PublicationState.UNKNOWN:
                return f"may no longer be published: {self.note}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A bound on a package that the resolver must keep.

    Attributes:
        requirement: PEP 508 requirement without markers, such as `protobuf<3.21`.
        advisory: The trap that it keeps out of.
    """

    requirement: str
    advisory: Advisory


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherRelease:
    """Another patch release of the same minor release, which can be asked for.

    Attributes:
        package: Distribution name on the index.
        version: Exact version.
        pythons: Interpreters for which the index has a wheel of this version, oldest first.
        advisory: The trap that hits this release and not the row's; None when none is known.
    """

    package: str
    version: Version
    pythons: tuple[Release, ...]
    advisory: Advisory | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkWheel:
    """The TensorFlow wheel of a row.

    Attributes:
        package: Distribution name on the index.
        version: Exact version.
        pythons: Interpreters for which the index has a wheel of this version, oldest first.
        others: Other patch releases of the same minor release, ascending.
        glibc: Newest glibc symbol version that its libraries ask for.
        glibcxx: Newest libstdc++ symbol version that its libraries ask for.
        needs_avx: Whether its code uses AVX without asking the processor first.
        measured: sha256 of the wheel that the figures were read from; empty when no wheel was measured.
        sources: Where the figures come from.
    """

    package: str
    version: Version
    pythons: tuple[Release, ...]
    others: tuple[OtherRelease, ...]
    glibc: Release
    glibcxx: Release
    needs_avx: bool
    measured: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseSystem:
    """An operating system that an image can start from.

    Attributes:
        id: Stable name, such as `debian-bookworm`.
        kind: Registry image or Debian tree.
        image: `repository:tag` for an image; empty for a Debian tree.
        digest: Digest of the image where one is known; empty when the lock has to ask for it.
        suite: Debian suite; empty for an image.
        components: Debian components, such as `main` and `non-free`.
        packages: Packages that the Debian tree is made with, sorted.
        glibc: Its C library.
        glibcxx: Newest symbol version of its C++ library.
        python: Version of the OS interpreter that it has or can install.
        python_package: OS package of that interpreter; empty when it is part of the base.
        cuda: CUDA release inside; None without CUDA.
        cudnn: cuDNN release inside; None without.
        publication: Whether it is still published.
        sources: Where this is known from.
    """

    id: str
    kind: BaseKind
    image: str
    digest: str
    suite: str
    components: tuple[str, ...]
    packages: tuple[str, ...]
    glibc: Release
    glibcxx: Release
    python: Release
    python_package: str
    cuda: Release | None
    cudnn: Release | None
    publication: Publication
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """Something in which the image differs from what the wheel was compiled with.

    Attributes:
        what: The difference.
        why: Why it is acceptable, and what it costs.
        sources: Where this is known from.
    """

    what: str
    why: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseChoice:
    """One way to give an environment its system, interpreter and CUDA libraries.

    Attributes:
        system: The base.
        python: Interpreter version.
        python_provider: Where the interpreter comes from.
        cuda_provider: Where the CUDA libraries come from.
        libraries: The library set when they do not come from the base; None otherwise.
        os_packages: OS packages to add, `name` or `name=version`, sorted.
        links: Library links that the row needs on this base.
        deviations: How this differs from what the wheel was compiled with.
    """

    system: BaseSystem
    python: Release
    python_provider: PythonProvider
    cuda_provider: CudaProvider
    libraries: LibrarySet | None
    os_packages: tuple[str, ...]
    links: tuple[LibraryLink, ...]
    deviations: tuple[Deviation, ...]

    @property
    def cuda(self) -> Release | None:
        """CUDA release of the libraries in the image; None for a CPU image."""
        return self.libraries.cuda if self.libraries else self.system.cuda

    @property
    def cudnn(self) -> Release | None:
        """Release of cuDNN in the image; None for a CPU image. An OS package that pins one goes before the base's."""
        for package in self.os_packages:
            name, _, version = package.partition("=")
            if name.startswith("libcudnn") and version:
                return Release(".".join(version.partition("-")[0].split(".")[:3]))
        return self.libraries.cudnn if self.libraries else self.system.cudnn


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """One known-good row of the catalog.

    Attributes:
        id: What people type, such as `tf-2.4-cuda11.0`.
        summary: One line for `list`.
        framework: The TensorFlow wheel.
        cuda: What it asks of CUDA; None for a CPU row.
        cutoff: Packages uploaded after this day are not considered.
        upgraded: Whether that day was moved on purpose.
        constraints: Bounds with their reasons, sorted by requirement.
        additions: Packages that TensorFlow needs and does not ask for, with their reasons, sorted by requirement.
        source_builds: Packages without a fitting wheel, which may be built from source, sorted.
        advisories: Further traps that hit this row, sorted by id.
        bases: In order of preference; at least one.
        evidence: How the row is known to work, weakest first; at least one.
        unproven: Proofs that were tried and could not be had, weakest first.
        sources: Where the row comes from.
    """

    id: str
    summary: str
    framework: FrameworkWheel
    cuda: CudaNeed | None
    cutoff: date
    constraints: tuple[Constraint, ...]
    additions: tuple[Constraint, ...]
    source_builds: tuple[str, ...]
    advisories: tuple[Advisory, ...]
    bases: tuple[BaseChoice, ...]
    evidence: tuple[Evidence, ...]
    unproven: tuple[Unproven, ...]
    sources: tuple[Source, ...]
    upgraded: bool = False

    @property
    def pythons(self) -> tuple[Release, ...]:
        """Interpreters that images can have: those with a wheel, as far as the installer of our images knows them."""
        return tuple(python for python in self.framework.pythons if python >= OLDEST_PYTHON)

    @property
    def default_python(self) -> Release:
        """Interpreter of the preferred base."""
        return self.bases[0].python

    @property
    def proven(self) -> Grade:
        """The strongest evidence."""
        return max((entry.grade for entry in self.evidence), key=lambda grade: grade.rank, default=Grade.DOCUMENTED)

    def release(self, version: Version) -> Environment | None:
        """The same row with another patch release; None when the row does not have it.

        What was read from the row's own wheel stays, and every base says so as a deviation: nobody measured the other.
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
        keras: Which standalone Keras works with which TensorFlow.
        vendor_builds: NVIDIA's own builds, ascending by TensorFlow.
    """

    environments: tuple[Environment, ...]
    bases: tuple[BaseSystem, ...]
    libraries: tuple[LibrarySet, ...]
    advisories: tuple[Advisory, ...]
    cuda: CudaFacts
    keras: KerasFacts = field(default_factory=KerasFacts)
    vendor_builds: tuple[VendorBuild, ...] = ()

    def driver_floor(self, environment: Environment, choice: BaseChoice) -> Release | None:
        """The oldest driver for this environment on this base; None for a CPU row."""
        if environment.cuda is None:
            return None
        return self.cuda.driver_floor(choice.cuda or environment.cuda.compiled)
