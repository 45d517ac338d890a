"""Documents of `doctor`, `diagnose`, `compare` and `cluster`, and of errors."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from envbuilder.catalog.verdicts import Fit
from envbuilder.cli.documents.gpus import Offer
from envbuilder.diagnostics.compare.comparison import AppliesTo, SystemKind
from envbuilder.diagnostics.findings import Severity
from envbuilder.diagnostics.host.environment import HostEnvironment
from envbuilder.diagnostics.host.examination import LibraryOrigin


class Remedy(TypedDict):
    """A remedy, and a command for it; the command may be empty."""

    text: str
    command: str


class Finding(TypedDict):
    """A problem of a machine, its effect and its remedies."""

    id: str
    severity: Severity
    seen: str
    effect: str
    remedies: list[Remedy]


class UnseenFact(TypedDict):
    """A fact that could not be determined, the reason, and a way to determine it."""

    what: str
    why: str
    how: str


class HostGpu(TypedDict):
    """A GPU; memory in bytes, null where it is unknown."""

    name: str
    capability: str | None
    memory: int | None
    free: int | None


class Machine(TypedDict):
    """A machine; null where something is unknown."""

    driver: str | None
    cuda: str | None
    gpus: list[HostGpu] | None
    machine: str
    glibc: str | None
    avx: bool | None
    fma: bool | None
    memory: int | None
    shm: int | None


class InstalledTensorflow(TypedDict):
    """The TensorFlow of an interpreter."""

    packages: list[str]
    version: str
    cuda_build: bool | None
    cuda: str | None
    cudnn: str | None
    told_by: str
    folder: str


class InstalledLibrary(TypedDict):
    """A library that TensorFlow would open."""

    name: str
    path: str
    version: str | None
    origin: LibraryOrigin
    via: str


class VersionDifference(TypedDict):
    """A difference from the nearest environment."""

    what: str
    here: str
    there: str


class NearestEnvironment(TypedDict):
    """The environment that is nearest to an installation."""

    environment: str
    same_release: bool
    differences: list[VersionDifference]
    command: str


class InstalledVersions(TypedDict):
    """The versions in an interpreter."""

    python: str | None
    executable: str
    tensorflow: InstalledTensorflow | None
    tf_keras: str | None
    packages: dict[str, str | None]
    libraries: list[InstalledLibrary]
    nearest: NearestEnvironment | None


class DoctorDocument(TypedDict):
    """`doctor`: findings about a machine, and the environments that run on it."""

    schema: Literal[1]
    origin: str
    problems: bool
    findings: list[Finding]
    unseen: list[UnseenFact]
    host: Machine
    surroundings: HostEnvironment | None
    versions: InstalledVersions | None
    environments: list[Offer]


class Quote(TypedDict):
    """A line of a log."""

    line: int
    text: str


Cause = TypedDict(
    "Cause",
    {
        "class": str,
        "confidence": float,
        "evidence": list[int],
        "fix": str,
        "cause": str,
        "commands": list[str],
        "quotes": list[Quote],
        "signatures": list[str],
        "explains": list[str],
        "tell": str | None,
        "notes": list[str],
    },
)
"""A probable cause of a failure, with the lines that prove it."""


class Noise(TypedDict):
    """Harmless lines of one kind."""

    id: str
    lines: int
    first: int
    why: str


class Stated(TypedDict, total=False):
    """Versions, GPUs and memory that a log states; what it does not state is absent."""

    tensorflow: str
    tensorflow_since: str
    tensorflow_until: str
    python: str
    keras: str
    cuda: str
    cudnn: str
    cudnn_compiled: str
    driver: str
    driver_library: str
    gpus: list[str]
    capabilities: list[str]
    missing: list[str]
    gpu_memory: int
    gpu_memory_free: int


class DiagnoseDocument(TypedDict):
    """`diagnose`: the causes of a failure, most likely first."""

    schema: Literal[1]
    causes: list[Cause]
    noise: list[Noise]
    seen: Stated
    lines: int


class Side(TypedDict):
    """One of two things that are compared."""

    name: str
    kind: SystemKind


class Effect(TypedDict):
    """The effect of a difference on TensorFlow, and the side that it applies to."""

    on: AppliesTo
    text: str
    out_of_memory: bool


class Difference(TypedDict):
    """One difference."""

    topic: str
    a: str
    b: str
    effects: list[Effect]


class Unknown(TypedDict):
    """A property that is known for one side at most."""

    topic: str
    a: str | None
    b: str | None


class CompareDocument(TypedDict):
    """`compare`: two machines, locks, environments or images."""

    schema: Literal[1]
    a: Side
    b: Side
    differences: list[Difference]
    unknown: list[Unknown]
    same: list[str]
    out_of_memory: list[Effect]


class DriverRange(TypedDict):
    """Drivers from `least` on, and older than `before` unless that is null."""

    least: str
    before: str | None


class NodeGpu(TypedDict):
    """GPUs that run an image, with the drivers for them."""

    capability: str
    product: str
    drivers: list[DriverRange]
    fits: list[Fit]


class ExcludedGpu(TypedDict):
    """GPUs that do not run an image."""

    capability: str
    why: str


class Nodes(TypedDict):
    """The nodes of a cluster that can run an image."""

    schema: Literal[1]
    environment: str
    base: str
    processor: str
    avx: bool
    uses_gpu: bool
    gpus: list[NodeGpu]
    excluded: list[ExcludedGpu]
    text: str


class ClusterDocument(TypedDict):
    """`cluster`: the files that were written, and the nodes that they are for."""

    schema: Literal[1]
    folder: str
    files: list[str]
    nodes: Nodes


class Fault(TypedDict):
    """A fault of a file; `line` is null where it is unknown."""

    file: str
    line: int | None
    field: str
    problem: str
    hint: str


class Failure(TypedDict):
    """The error that ended a command."""

    kind: str
    message: str
    hint: str
    faults: NotRequired[list[Fault]]
    exit_status: int


class FailureDocument(TypedDict):
    """Output of a command with `--json` that ends with an error."""

    schema: Literal[1]
    error: Failure
