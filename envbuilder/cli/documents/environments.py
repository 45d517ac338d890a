"""Documents of `list`, `show` and `advise`."""

from __future__ import annotations

from typing import Literal, TypedDict

from envbuilder.catalog.advise.advice import Topic, Verdict, Weight
from envbuilder.catalog.buildable import Buildability
from envbuilder.catalog.coverage import Part
from envbuilder.catalog.cuda import Coverage, Linkage
from envbuilder.catalog.environments import BaseKind, CudaProvider, PublicationState, PythonProvider
from envbuilder.catalog.evidence import Grade
from envbuilder.catalog.verdicts import Aspect, Fit, Rule
from envbuilder.lock.container_settings import ContainerSettings


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
    """The catalog of a team that has an environment; `address` and `commit` are null for a directory without git."""

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


class Architecture(TypedDict):
    """GPUs of one compute capability."""

    capability: str
    generation: str
    names: list[str]
    first_cuda: str
    last_cuda: str | None


class PartOfSupport(TypedDict):
    """The support of a GPU by TensorFlow, the CUDA libraries or cuDNN."""

    part: Part
    family: str | None
    outcome: Literal["machine-code", "jit", "none", "not-proven"]
    text: str


class Support(TypedDict):
    """The support of the GPUs of one compute capability."""

    capability: str
    outcome: Coverage
    doubtful: bool
    driver: str | None
    ptx_driver: str | None
    reasons: list[PartOfSupport]


class SupportOnBase(TypedDict):
    """The support of GPUs by an environment on one base."""

    id: str
    cuda: str | None
    cudnn: str | None
    driver: str | None
    gpus: list[Support]


class SupportOfEnvironment(TypedDict):
    """The support of GPUs by an environment."""

    id: str
    bases: list[SupportOnBase]


class GpuTable(TypedDict):
    """`list --gpus`: the support of each GPU by each environment on each base."""

    schema: Literal[1]
    gpus: list[Architecture]
    environments: list[SupportOfEnvironment]
    left_out: list[str]


class Reason(TypedDict):
    """One reason of the judge of compatibility."""

    aspect: Aspect
    rule: Rule
    fit: Fit
    text: str
    caveat: bool
    change: str | None
    sources: list[str]


class GpuVerdict(TypedDict):
    """The verdict about one kind of GPU of a machine."""

    name: str
    capability: str | None
    fit: Fit
    code: Coverage | None
    reasons: list[Reason]
    driver: str | None


class Offer(TypedDict):
    """An environment on its best base for a machine."""

    environment: str
    base: str
    fit: Fit
    reasons: list[Reason]
    gpus: list[GpuVerdict]
    driver: str | None
    bare: str | None
    buildable: Buildable


class FitList(TypedDict):
    """`list --fits`: the verdict about each environment on a machine."""

    schema: Literal[1]
    host: str
    environments: list[Offer]


class OtherRelease(TypedDict):
    """Another patch release of an environment."""

    package: str
    version: str
    pythons: list[str]
    advisory: str | None


class ShownTensorflow(TypedDict):
    """The TensorFlow of an environment."""

    package: str
    version: str
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
    """`show ENV`: all that the catalog knows about an environment."""

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


class LockedBase(TypedDict):
    """The base of a lock."""

    id: str
    image: str
    digest: str


class LockedCuda(TypedDict):
    """The CUDA libraries of a lock."""

    provider: CudaProvider
    version: str
    cudnn: str
    driver: str
    require: str


class LockedCatalog(TypedDict):
    """The catalog of a team that the environment of a lock is from."""

    name: str
    commit: str | None
    digest: str


class SpecCatalog(TypedDict):
    """A catalog that a spec is read with."""

    name: str
    commit: str | None


class SpecValue(TypedDict):
    """A value of a spec, with the file and the line that it is from."""

    field: str
    value: object
    file: str
    line: int


class ShownSpec(TypedDict):
    """`show SPEC`: the values of a spec and of those that it extends."""

    schema: Literal[1]
    spec: str
    files: list[str]
    catalogs: list[SpecCatalog]
    values: list[SpecValue]


class LockedArchive(TypedDict):
    """A vendor archive of a lock."""

    id: str
    publisher: str
    sonames: list[str]


class Memory(TypedDict):
    """A memory policy in words."""

    policy: str
    meaning: str


class LockedUser(TypedDict):
    """The user of an image."""

    name: str
    uid: int
    gid: int


class ShownLock(TypedDict):
    """`show LOCK`: the image that a lock describes."""

    schema: Literal[1]
    lock: str
    environment: str
    catalog: LockedCatalog | None
    tensorflow: Wheel
    base: LockedBase
    python: ShownPython
    cuda: LockedCuda | None
    archives: list[LockedArchive]
    memory: Memory
    user: LockedUser
    packages: dict[str, int]
    own_packages: list[str]
    os_packages: list[str]
    files: list[str]
    env: dict[str, str]
    settings: ContainerSettings
    deviations: list[str]
    refused: list[str]
    created: str
    image: str | None
    unpinned: list[str]


class AdviceChange(TypedDict):
    """A change that would make an environment fit."""

    topic: Topic
    text: str


class AdviceReason(TypedDict):
    """One comparison of an environment with the request."""

    topic: Topic
    weight: Weight
    text: str
    asked: str | None
    has: str | None
    sources: list[str]


class Advice(TypedDict):
    """One environment with the reasons for and against it."""

    environment: str
    verdict: Verdict
    tensorflow: str
    python: str
    base: str
    cuda: str | None
    cudnn: str | None
    driver: str | None
    fit: Fit | None
    doubtful: bool
    buildable: Buildable | None
    gpus: Coverage | None
    proven: Grade
    changes: list[AdviceChange]
    reasons: list[AdviceReason]
    steps: list[str]


class Elsewhere(TypedDict):
    """A build of NVIDIA's own."""

    name: str
    tensorflow: str
    python: str
    what: str
    sources: list[str]


class Recommendation(TypedDict):
    """Environments that fit, best first; if none does, the nearest ones."""

    schema: Literal[1]
    asked: str
    fits: list[Advice]
    nearest: list[Advice]
    elsewhere: list[Elsewhere]
