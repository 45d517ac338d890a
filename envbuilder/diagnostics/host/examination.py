"""The result of examining a machine: installed versions, the most similar environment, findings and missing facts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from envbuilder.catalog.offers import Offer
from envbuilder.core.versions import Release
from envbuilder.diagnostics.findings import Finding, Severity
from envbuilder.diagnostics.host.missing_facts import MissingFact


class LibraryOrigin(StrEnum):
    """The origin of a CUDA library.

    `wheel`: a package of NVIDIA's. `conda`: a conda environment. `LD_LIBRARY_PATH`: any directory that this variable
    names. `toolkit`: a CUDA toolkit. `system`: any other directory.
    """

    WHEEL = "wheel"
    CONDA = "conda"
    ENVIRONMENT = "LD_LIBRARY_PATH"
    TOOLKIT = "toolkit"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledLibrary:
    """A CUDA library.

    Attributes:
        name: File name that programs open, such as `libcudnn.so.8`.
        via: Search path of the loader; empty if it does not find it.
        version: None if unknown.
    """

    name: str
    path: str
    via: str
    origin: LibraryOrigin
    version: Release | None

    @property
    def stem(self) -> str:
        """The name without number, such as `libcudnn`."""
        return self.name.partition(".so")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledTensorFlow:
    """The TensorFlow that an import would load.

    Attributes:
        packages: `NAME VERSION` of the distributions that installed its files; empty when there is none.
        version: None if unknown.
        cuda_build: Whether it was built with CUDA; None if unknown.
        cuda: CUDA that it was built with; None when unknown, and for a CPU build.
        cudnn: Likewise for cuDNN.
        told_by: Sources of CUDA and cuDNN: `build_info` (stated by TensorFlow), `catalog` (measured there),
            `build_info, catalog` (the release of cuDNN comes from the catalog), or empty.
        folder: Its directory; empty when unknown.
    """

    packages: tuple[str, ...]
    version: str | None
    cuda_build: bool | None
    cuda: Release | None
    cudnn: Release | None
    told_by: str
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentDifference:
    """A difference between an installed environment and one of the catalog.

    Attributes:
        what: Such as `Python` or `protobuf`.
        here: Installed value; empty if it is not installed.
    """

    what: str
    here: str
    there: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """The environment of the catalog that is most similar to the installed one.

    Attributes:
        is_same_release: Whether it has exactly this TensorFlow.
        command: Builds it, with the patch release that is installed where the environment has that.
    """

    environment: str
    is_same_release: bool
    differences: tuple[EnvironmentDifference, ...]
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """The environment of one interpreter.

    Attributes:
        python: Version of the interpreter; None when unknown.
        executable: Its path; empty when unknown.
        tensorflow: None when it is not installed.
        builtin_keras: Version of the Keras inside of TensorFlow; empty where it is a distribution, or unknown.
        packages: `(name, version)` of the most relevant packages, in a fixed order; empty version: not installed.
        libraries: CUDA libraries, those first that the loader finds.
        nearest: None without TensorFlow, and where its release is unknown.
    """

    python: Release | None
    executable: str
    tensorflow: InstalledTensorFlow | None
    builtin_keras: str
    packages: tuple[tuple[str, str], ...]
    libraries: tuple[InstalledLibrary, ...]
    nearest: Nearest | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """The data of a report of `doctor`.

    Attributes:
        findings: Worst first; within a severity in the order of the table.
        environments: Each environment on its best base, in the order of the catalog.
        versions: Installed versions for the interpreter of the probe; None if the facts have none.
    """

    findings: tuple[Finding, ...]
    unseen: tuple[MissingFact, ...]
    environments: tuple[Offer, ...]
    versions: Versions | None = None

    @property
    def has_problems(self) -> bool:
        """True if something does not work."""
        return any(finding.severity is Severity.PROBLEM for finding in self.findings)
