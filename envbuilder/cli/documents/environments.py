"""Documents of `list` and `show ENV`."""

from __future__ import annotations

from typing import Literal, TypedDict

from envbuilder.catalog.buildable import Buildability
from envbuilder.catalog.cuda import Coverage, Linkage
from envbuilder.catalog.environments import BaseKind, CudaProvider, PublicationState, PythonProvider
from envbuilder.catalog.evidence import Grade


class Buildable(TypedDict):
    """Whether an environment can be built on this machine."""

    verdict: Buildability
    base: str
    reasons: list[str]
    hint: str


class Wheel(TypedDict):
    """A TensorFlow wheel."""

    package: str
    version: str


class Unproven(TypedDict):
    """A proof that was tried without success."""

    grade: Grade
    why: str
    when: str


class TeamCatalog(TypedDict):
    """The catalog of a team that has an environment; `address` and `commit` are null for a directory."""

    name: str
    directory: str
    address: str | None
    commit: str | None
    digest: str


class ListedEnvironment(TypedDict):
    """One environment of the catalog; `cuda`, `cudnn` and `driver` are null without a GPU."""

    id: str
    summary: str
    tensorflow: Wheel
    cuda: str | None
    cudnn: str | None
    pythons: list[str]
    default_python: str
    driver: str | None
    proven: Grade
    unproven: list[Unproven]
    buildable: Buildable
    bases: list[str]
    catalog: TeamCatalog | None


class EnvironmentList(TypedDict):
    """The environments of the catalog."""

    schema: Literal[1]
    environments: list[ListedEnvironment]


class OtherRelease(Wheel):
    """Another patch release of an environment."""

    pythons: list[str]
    advisory: str | None


class ShownTensorflow(Wheel):
    """The TensorFlow of an environment."""

    pythons: list[str]
    glibc: str
    glibcxx: str
    others: list[OtherRelease]
    needs_avx: bool
    measured: str | None


class CudnnRule(TypedDict):
    """The cuDNN that an environment was compiled with, and the rule for others."""

    compiled: str
    rule: str


class ShownGpu(TypedDict):
    """A GPU, and the code for it in the wheel."""

    name: str
    capability: str
    coverage: Coverage
    cuda_knows_it: bool


class ShownCuda(TypedDict):
    """The CUDA requirements of an environment."""

    compiled: str
    linkage: Linkage
    sonames: list[str]
    optional: list[str]
    cudnn: CudnnRule
    gpus: list[ShownGpu]


class Trap(TypedDict):
    """A known trap."""

    id: str
    title: str
    reason: str
    remedy: str
    sources: list[str]


class Bound(TypedDict):
    """A bound on a package, and the trap that it avoids."""

    requirement: str
    advisory: str
    title: str
    reason: str
    remedy: str
    sources: list[str]


class Published(TypedDict):
    """Whether a base is still published."""

    state: PublicationState
    date: str
    note: str
    sources: list[str]


class ShownPython(TypedDict):
    """An interpreter, and where it comes from."""

    version: str
    provider: PythonProvider


class BaseCuda(TypedDict):
    """The CUDA libraries on a base."""

    provider: CudaProvider
    version: str | None
    cudnn: str | None
    driver: str | None


class ShownArchive(TypedDict):
    """A vendor archive that libraries come from."""

    id: str
    publisher: str
    file: str
    sha256: str
    size: int | None
    agreeing: int
    license: str | None
    sonames: list[str]
    sources: list[str]


class Link(TypedDict):
    """A second name of a library."""

    name: str
    target: str


class ShownDeviation(TypedDict):
    """A difference from the environment that the wheel was compiled in."""

    what: str
    why: str
    sources: list[str]


class ShownBase(TypedDict):
    """One base of an environment."""

    id: str
    kind: BaseKind
    image: str | None
    digest: str | None
    suite: str | None
    publication: Published
    glibc: str
    python: ShownPython
    cuda: BaseCuda
    archives: list[ShownArchive]
    links: list[Link]
    deviations: list[ShownDeviation]
    buildable: Buildable


class ShownEvidence(TypedDict):
    """A proof that an environment works."""

    grade: Grade
    what: str
    when: str


class ShownEnvironment(TypedDict):
    """`show ENV`: everything in the catalog about an environment."""

    schema: Literal[1]
    id: str
    summary: str
    tensorflow: ShownTensorflow
    cuda: ShownCuda | None
    cutoff: str
    constraints: list[Bound]
    additions: list[Bound]
    source_builds: list[str]
    advisories: list[Trap]
    buildable: Buildable
    bases: list[ShownBase]
    evidence: list[ShownEvidence]
    unproven: list[Unproven]
    sources: list[str]
    catalog: TeamCatalog | None
