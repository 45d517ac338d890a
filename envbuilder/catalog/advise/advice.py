"""Query and result types of `advise`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envbuilder.catalog.buildable import Buildable, Inventory
from envbuilder.catalog.cuda import Coverage
from envbuilder.catalog.evidence import Grade
from envbuilder.catalog.machine import Host
from envbuilder.catalog.sources import Source
from envbuilder.catalog.vendor_builds import VendorBuild
from envbuilder.catalog.verdicts import Fit
from envbuilder.core.versions import Release


class Topic(StrEnum):
    """What a reason, or a change, is about."""

    PATCH = "patch-release"
    PYTHON = "python"
    BASE = "base"
    KERAS = "keras"
    CUDA = "cuda"
    CUDNN = "cudnn"
    GLIBC = "glibc"
    DRIVER = "driver"
    TENSORFLOW = "tensorflow"
    KIND = "cpu-or-gpu"
    GPU = "gpu"
    PROCESSOR = "processor"
    BUILD = "build"


class Weight(StrEnum):
    """What a reason does to the verdict: nothing, or it costs something, or it rules the environment out."""

    FOR = "for"
    COST = "cost"
    AGAINST = "against"


class Verdict(StrEnum):
    """Whether an environment is what was asked for."""

    FITS = "fits"
    COST = "fits-with-cost"
    NOT = "does-not-fit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """A range of versions.

    Attributes:
        text: As it was asked for.
        versions: The range.
    """

    text: str
    versions: SpecifierSet

    def __contains__(self, version: Version | Release) -> bool:
        return self.versions.contains(str(version), prereleases=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was asked for; what was not is None or empty.

    Attributes:
        tensorflow: Releases of TensorFlow.
        python: Interpreter, major and minor.
        keras: Releases of standalone Keras.
        cuda: Releases of the CUDA libraries.
        cudnn: Releases of cuDNN.
        glibc: C library of a system where the wheel is to run without a container.
        base: Id of a base.
        cpu: Whether only environments without a GPU are wanted.
        inventory: What is available to a build here; None if it does not matter.
        hosts: Machines, each of which must run it. What was said of driver and GPUs without a machine is one too.
    """

    tensorflow: Spec | None = None
    python: Release | None = None
    keras: Spec | None = None
    cuda: Spec | None = None
    cudnn: Spec | None = None
    glibc: Release | None = None
    base: str = ""
    cpu: bool = False
    inventory: Inventory | None = None
    hosts: tuple[Host, ...] = ()

    @property
    def has_gpus(self) -> bool:
        """Whether a machine has a GPU."""
        return any(host.gpus for host in self.hosts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What would have to be different.

    Attributes:
        topic: What it is about; decides its price.
        text: What to do.
    """

    topic: Topic
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One thing that was compared.

    Attributes:
        topic: What it is about.
        weight: What it does to the verdict.
        text: What was found, in a sentence.
        asked: What was asked for; empty where nothing was.
        has: What the environment has or needs.
        sources: Where that is known from.
        change: What would mend it; None unless it rules the environment out.
        price: For a cost: how much it counts, 1 for little.
        is_doubt: Whether it is a cost because nobody knows, not because something is lost.
    """

    topic: Topic
    weight: Weight
    text: str
    asked: str = ""
    has: str = ""
    sources: tuple[Source, ...] = ()
    change: Change | None = None
    price: int = 1
    is_doubt: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """One environment, and what speaks for and against it.

    Attributes:
        environment: Id of the row.
        tensorflow: Its release.
        is_own_release: Whether that is the release that the row is about.
        python: Interpreter.
        base: Id of the base.
        cuda: Release of the CUDA libraries; None for a CPU row.
        cudnn: Release of cuDNN; likewise.
        driver: Oldest driver for all GPUs that were asked for; None for a CPU row, or where it is not known.
        coverage: The worst that any of these GPUs gets; None where no GPU was asked for.
        fit: The compatibility with the worst of the machines; None if no machine was named.
        buildable: Whether it can be built from here; None if that was not asked.
        proven: The strongest evidence.
        reasons: In the order in which they were looked at.
        steps: What to type, and what to write where.
    """

    environment: str
    tensorflow: Version
    is_own_release: bool
    python: Release
    base: str
    cuda: Release | None
    cudnn: Release | None
    driver: Release | None
    coverage: Coverage | None
    fit: Fit | None
    buildable: Buildable | None
    proven: Grade
    reasons: tuple[Reason, ...]
    steps: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst that any reason says."""
        weights = {reason.weight for reason in self.reasons}
        if Weight.AGAINST in weights:
            return Verdict.NOT
        return Verdict.COST if Weight.COST in weights else Verdict.FITS

    @property
    def is_doubtful(self) -> bool:
        """Whether something is not proven, so that it may not run."""
        return any(reason.is_doubt for reason in self.reasons)

    @property
    def changes(self) -> tuple[Change, ...]:
        """What would have to be different for it to fit; each once."""
        return tuple(dict.fromkeys(reason.change for reason in self.reasons if reason.change))

    @property
    def costs(self) -> int:
        """How much all costs count together."""
        return sum(reason.price for reason in self.reasons if reason.weight is Weight.COST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the catalog says.

    Attributes:
        fitting: Environments that fit, best first.
        nearest: Where none fits: those that need the fewest and cheapest changes, best first.
        elsewhere: NVIDIA's own builds, where no environment is sure to run on every GPU.
    """

    fitting: tuple[Advice, ...]
    nearest: tuple[Advice, ...]
    elsewhere: tuple[VendorBuild, ...]
