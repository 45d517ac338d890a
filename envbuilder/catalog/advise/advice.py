"""Queries as users write them, and the results of `advise`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from envbuilder.catalog.buildable import Buildable, Inventory
from envbuilder.catalog.cuda import Coverage
from envbuilder.catalog.evidence import Grade
from envbuilder.catalog.gpus import VendorBuild
from envbuilder.catalog.machine import Host
from envbuilder.catalog.sources import Source
from envbuilder.catalog.verdicts import Fit
from envbuilder.core.errors import UsageError
from envbuilder.core.versions import Release

_BARE = re.compile(r"\d+(\.\d+)*(\.?(\*|x))?((a|b|rc|\.?post|\.?dev)\d+)?")
_PATCH_LEVEL = 3


class Topic(StrEnum):
    """Subject of a reason or a change."""

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
    """Effect of a reason on the verdict: none, a cost, or the exclusion of the environment."""

    FOR = "for"
    COST = "cost"
    AGAINST = "against"


class Verdict(StrEnum):
    """Degree to which an environment meets the request."""

    FITS = "fits"
    COST = "fits-with-cost"
    NOT = "does-not-fit"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedRange:
    """A range of versions in a query."""

    text: str
    versions: SpecifierSet

    def __contains__(self, version: Version | Release) -> bool:
        return self.versions.contains(str(version), prereleases=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query; fields that the user did not set are None or empty.

    Attributes:
        python: Interpreter, major and minor.
        keras: Releases of standalone Keras.
        cuda: Releases of the CUDA libraries.
        cudnn: Releases of cuDNN.
        glibc: C library of a system on which the wheel is to run without a container.
        cpu: Whether only environments without a GPU are wanted.
        inventory: What is available to a build on this machine; None if it does not matter.
        hosts: Machines, each of which must run the environment. A driver and GPUs given without a machine count as one.
    """

    tensorflow: RequestedRange | None = None
    python: Release | None = None
    keras: RequestedRange | None = None
    cuda: RequestedRange | None = None
    cudnn: RequestedRange | None = None
    glibc: Release | None = None
    base: str = ""
    cpu: bool = False
    inventory: Inventory | None = None
    hosts: tuple[Host, ...] = ()

    @property
    def has_gpus(self) -> bool:
        """True if a machine has a GPU."""
        return any(host.gpus for host in self.hosts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change that the user would have to make.

    Attributes:
        topic: Subject; decides its price.
    """

    topic: Topic
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceReason:
    """One comparison of a candidate with the query.

    Attributes:
        topic: Subject.
        weight: Its effect on the verdict.
        text: The result, in a sentence.
        asked: The requested value; empty if none was requested.
        has: What the environment has or needs.
        sources: Where that is documented or measured.
        change: The change that would remove the obstacle; None unless the reason rules the environment out.
        price: For a cost: its amount; 1 is low.
        is_doubt: Whether it is a cost because something is unknown, not because something is lost.
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
    """One environment with the reasons for and against it.

    Attributes:
        environment: Id of the row.
        tensorflow: Its release.
        is_own_release: Whether that is the row's own release.
        python: Interpreter.
        base: Id of the base.
        cuda: Release of the CUDA libraries; None for a CPU row.
        cudnn: Release of cuDNN; likewise.
        driver: Oldest driver for all requested GPUs; None for a CPU row, or if it is unknown.
        coverage: The lowest coverage of these GPUs; None if no GPU was requested.
        fit: The verdict for the least suitable machine; None if no machine was named.
        buildable: Whether it can be built on this machine; None if that was not requested.
        proven: The strongest evidence.
        reasons: In the order in which they were examined.
        steps: Commands to run, and lines to write into a spec.
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
    reasons: tuple[AdviceReason, ...]
    steps: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """Worst verdict of all reasons."""
        weights = {reason.weight for reason in self.reasons}
        if Weight.AGAINST in weights:
            return Verdict.NOT
        return Verdict.COST if Weight.COST in weights else Verdict.FITS

    @property
    def is_doubtful(self) -> bool:
        """True if something is not proven, so that it may not run."""
        return any(reason.is_doubt for reason in self.reasons)

    @property
    def changes(self) -> tuple[Change, ...]:
        """Changes that would make it fit, without duplicates."""
        return tuple(dict.fromkeys(reason.change for reason in self.reasons if reason.change))

    @property
    def costs(self) -> int:
        """Sum of all costs."""
        return sum(reason.price for reason in self.reasons if reason.weight is Weight.COST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """Result of a query.

    Attributes:
        fitting: Environments that fit, best first.
        nearest: If none fits: the environments that need the fewest and cheapest changes, best first.
        elsewhere: NVIDIA's own builds, if no environment is certain to run on every GPU.
    """

    fitting: tuple[Advice, ...]
    nearest: tuple[Advice, ...]
    elsewhere: tuple[VendorBuild, ...]


def requested_range(text: str, what: str) -> RequestedRange:
    """Parse a range such as `>=2.4,<2.6`; a bare version without a patch number stands for all its patch releases.

    Args:
        text: The user's text.
        what: Name of the software, for errors.

    Raises:
        UsageError: The text is not a range.

    Example:
        >>> str(requested_range("2.4", "TensorFlow").versions), str(requested_range("2.4.1", "TensorFlow").versions)
        ('==2.4.*', '==2.4.1')
    """
    written = text.strip().replace(" ", "")
    try:
        return RequestedRange(text=written, versions=SpecifierSet(",".join(_part(part) for part in written.split(","))))
    except InvalidSpecifier as error:
        raise UsageError(
            f"{text!r} is not a version range of {what}", hint="use 2.4, 2.4.1, '>=2.4,<2.6' or '~=2.4'"
        ) from error


def _part(part: str) -> str:
    if not _BARE.fullmatch(part):
        return part
    plain = re.sub(r"\.?(\*|x)$", "", part)
    is_exact = plain == part and (part.count(".") >= _PATCH_LEVEL - 1 or re.search(r"[a-z]", part))
    return f"=={part}" if is_exact else f"=={plain}.*"


def requested_release(text: str, what: str) -> Release:
    """Parse a dotted number such as `450.51`; a leading `R` or `v`, as in `R450`, is left out.

    Raises:
        UsageError: The text is not a release.
    """
    try:
        return Release(text.strip().removeprefix("R").removeprefix("v"))
    except ValueError as error:
        raise UsageError(f"{text!r} is not a version of {what}", hint="use a version such as 450.51.06") from error
