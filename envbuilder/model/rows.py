"""What the catalog knows: environments, bases, CUDA releases, and how they fit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from packaging.version import Version

from envbuilder.model.versions import Release


class CudnnRule(StrEnum):
    """How TensorFlow compares the cuDNN that it finds with the one that it was compiled against.

    Source: constants in `CudnnSupport::Init` of the wheels; exact up to TensorFlow 1.7, at least from 1.8 on.
    """

    EXACT_MINOR = "exact-minor"
    SAME_MAJOR_AT_LEAST = "same-major-at-least"

    def accepts(self, compiled: Release, loaded: Release) -> bool:
        """Whether a wheel compiled against one cuDNN starts with the other.

        Example:
            >>> CudnnRule.EXACT_MINOR.accepts(Release("7.0.5"), Release("7.1.4"))
            False
            >>> CudnnRule.SAME_MAJOR_AT_LEAST.accepts(Release("8.0.4"), Release("8.6.0"))
            True
        """
        want, have = compiled.head(2), loaded.head(2)
        match self:
            case CudnnRule.EXACT_MINOR:
                return have == want
            case CudnnRule.SAME_MAJOR_AT_LEAST:
                return have[0] == want[0] and have[1] >= want[1]

    def describe(self, compiled: Release) -> str:
        """The rule in words, such as `cuDNN 8.0 or a later 8.x`."""
        major, minor = compiled.head(2)
        match self:
            case CudnnRule.EXACT_MINOR:
                return f"cuDNN {major}.{minor}.x exactly"
            case CudnnRule.SAME_MAJOR_AT_LEAST:
                return f"cuDNN {major}.{minor} or a later {major}.x"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a fact was read, or how it was measured.

    Attributes:
        text: Address or description, with the date when the fact may change.
    """

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Advisory:
    """A known trap, and what keeps out of it.

    Attributes:
        id: Stable kebab-case name.
        title: What goes wrong, in one sentence.
        reason: Why.
        sources: Where this is known from.
    """

    id: str
    title: str
    reason: str
    sources: tuple[Source, ...]


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
class FrameworkWheel:
    """The TensorFlow wheel of a row.

    Attributes:
        package: Distribution name on the index.
        version: Exact version.
        pythons: Interpreters for which the index has a wheel of this version, oldest first.
        glibc: Newest glibc symbol version that its libraries ask for.
        needs_avx: Whether its code uses AVX without asking the processor first.
        measured: sha256 of a wheel that the figures were read from.
        sources: Where the figures come from.
    """

    package: str
    version: Version
    pythons: tuple[Release, ...]
    glibc: Release
    needs_avx: bool
    measured: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CudnnNeed:
    """The cuDNN that a wheel was compiled against, and what it accepts at run time."""

    compiled: Release
    rule: CudnnRule

    def accepts(self, loaded: Release) -> bool:
        """Whether TensorFlow starts with this cuDNN."""
        return self.rule.accepts(self.compiled, loaded)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuCode:
    """GPU code in the TensorFlow wheel, for every kernel family.

    Attributes:
        machine: Compute capabilities with machine code in all kernel families, ascending.
        partial: Compute capabilities with machine code in some families only; the others are compiled from PTX.
        ptx: Compute capability of the PTX that newer GPUs compile from, and None where there is none.
    """

    machine: tuple[Release, ...]
    partial: tuple[Release, ...]
    ptx: Release | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaNeed:
    """What a GPU wheel asks of CUDA.

    Attributes:
        compiled: CUDA release that it was compiled with.
        linkage: `needed` when the libraries are ELF dependencies and `import tensorflow` fails without them,
            `dlopen` when they are opened at run time.
        sonames: Libraries that TensorFlow opens, sorted; TensorRT and the profiler are left out.
        optional: Libraries that only a feature needs (profiler), sorted.
        cudnn: The cuDNN side.
        code: GPU code in the wheel.
    """

    compiled: Release
    linkage: str
    sonames: tuple[str, ...]
    optional: tuple[str, ...]
    cudnn: CudnnNeed
    code: GpuCode


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryLink:
    """A second name for a CUDA library, for a soname that only another CUDA release ships.

    Attributes:
        name: The soname that TensorFlow opens.
        target: The soname of the library that answers.
    """

    name: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LibrarySet:
    """CUDA libraries of one CUDA release that fit together, as NVIDIA's wheels or as OS packages.

    Attributes:
        id: Stable name, such as `cu11-11.8-cudnn8.6`.
        cuda: CUDA release of the libraries.
        cudnn: cuDNN release.
        wheels: Pinned requirements, `name==version`, sorted.
        os_packages: OS packages, sorted.
        sonames: What the set provides, sorted.
        sources: Where this is known from.
    """

    id: str
    cuda: Release
    cudnn: Release
    wheels: tuple[str, ...]
    os_packages: tuple[str, ...]
    sonames: tuple[str, ...]
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
        python: Version of the OS interpreter that it has or can install.
        python_package: OS package of that interpreter; empty when it is part of the base.
        cuda: CUDA release inside; None without CUDA.
        cudnn: cuDNN release inside; None without.
        status: What is known about its availability.
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
    python: Release
    python_package: str
    cuda: Release | None
    cudnn: Release | None
    status: str
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
        """cuDNN release in the image; None for a CPU image."""
        return self.libraries.cudnn if self.libraries else self.system.cudnn


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One way in which a row is known to work.

    Attributes:
        grade: `documented`, `measured`, `resolved`, `cpu` or `gpu`.
        what: What was seen.
        when: The day.
    """

    grade: str
    what: str
    when: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """One known-good row of the catalog.

    Attributes:
        id: What people type, such as `tf-2.4-cuda11.0`.
        summary: One line for `list`.
        framework: The TensorFlow wheel.
        cuda: What it asks of CUDA; None for a CPU row.
        cutoff: Packages uploaded after this day are not considered.
        constraints: Bounds with their reasons, sorted by requirement.
        source_builds: Packages without a fitting wheel, which may be built from source, sorted.
        bases: In order of preference; at least one.
        evidence: How the row is known to work; at least one.
        sources: Where the row comes from.
    """

    id: str
    summary: str
    framework: FrameworkWheel
    cuda: CudaNeed | None
    cutoff: date
    constraints: tuple[Constraint, ...]
    source_builds: tuple[str, ...]
    bases: tuple[BaseChoice, ...]
    evidence: tuple[Evidence, ...]
    sources: tuple[Source, ...]

    @property
    def default_python(self) -> Release:
        """Interpreter of the preferred base."""
        return self.bases[0].python


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaRelease:
    """A CUDA toolkit release and the driver that came with it."""

    version: Release
    driver: Release


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaFamily:
    """CUDA releases that share a driver floor by minor-version compatibility.

    Attributes:
        major: CUDA major version, 11 or later.
        driver: Oldest driver that runs any of its releases, PTX compilation excepted.
    """

    major: int
    driver: Release


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuModel:
    """GPUs by name and compute capability."""

    name: str
    capability: Release


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaFacts:
    """Drivers and GPU generations, independent of TensorFlow.

    Attributes:
        releases: Ascending by version.
        families: Ascending by major version.
        gpus: Ascending by compute capability.
        sources: Where the tables come from.
    """

    releases: tuple[CudaRelease, ...]
    families: tuple[CudaFamily, ...]
    gpus: tuple[GpuModel, ...]
    sources: tuple[Source, ...]

    def driver_floor(self, cuda: Release) -> Release:
        """The oldest driver on which programs of this CUDA release start.

        From CUDA 11 on the floor of the family holds (minor-version compatibility); before that the driver that
        shipped with the newest update of the release.

        Raises:
            KeyError: The table has no such release.
        """
        for family in self.families:
            if family.major == cuda.major:
                return family.driver
        shipped = [known.driver for known in self.releases if known.version.head(2) == cuda.head(2)]
        if not shipped:
            raise KeyError(f"no driver is known for CUDA {cuda}")
        return max(shipped)


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """All matrices, loaded and checked against each other.

    Attributes:
        environments: Sorted by TensorFlow version, GPU rows before CPU rows of the same version.
        bases: By id.
        libraries: By id.
        advisories: By id.
        cuda: Driver and GPU tables.
    """

    environments: tuple[Environment, ...]
    bases: tuple[BaseSystem, ...]
    libraries: tuple[LibrarySet, ...]
    advisories: tuple[Advisory, ...]
    cuda: CudaFacts

    def driver_floor(self, environment: Environment, choice: BaseChoice) -> Release | None:
        """The oldest driver for this environment on this base; None for a CPU row."""
        if environment.cuda is None:
            return None
        return self.cuda.driver_floor(choice.cuda or environment.cuda.compiled)
