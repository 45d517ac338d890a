"""Values of the compatibility judgement: subject, verdict, and reasons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from envbuilder.catalog.coverage import GpuSupport
from envbuilder.catalog.cuda import CudaNeed
from envbuilder.catalog.driver_requirements import DriverNeed
from envbuilder.catalog.environments import BaseChoice, BaseKind, Environment, FrameworkWheel
from envbuilder.catalog.machine import HostGpu
from envbuilder.catalog.sources import Advisory, Source
from envbuilder.core.versions import Release


class Fit(StrEnum):
    """The verdict, best first.

    `fits`: runs on the GPU at once. `fits-with-jit`: runs on the GPU after the driver has compiled kernels at the first
    start. `unknown`: nothing rules it out, but a property is unknown. `cpu-only`: runs on the processor.
    `does-not-fit`: does not run.
    """

    FITS = "fits"
    JIT = "fits-with-jit"
    UNKNOWN = "unknown"
    CPU_ONLY = "cpu-only"
    NO = "does-not-fit"


_ORDER = tuple(Fit)


def worst(fits: Iterable[Fit]) -> Fit:
    """Return the worst of some verdicts; `fits` if there are none."""
    return max(fits, key=_ORDER.index, default=Fit.FITS)


def best(fits: Iterable[Fit]) -> Fit:
    """Return the best of some verdicts; at least one is needed."""
    return min(fits, key=_ORDER.index)


class Aspect(StrEnum):
    """The part of the machine that a reason is about."""

    PROCESSOR = "processor"
    KIND = "cpu-or-gpu"
    GPU = "gpu"
    DRIVER = "driver"


class Rule(StrEnum):
    """The rule that a reason follows from; stable names for programs."""

    CPU_ARCHITECTURE = "cpu-architecture"
    AVX = "avx"
    CPU_BUILD = "cpu-build"
    NO_GPU = "no-gpu"
    LIBCUDA_NEEDED = "libcuda-needed"
    GPU_NOT_KNOWN = "gpu-not-known"
    OTHER_GPU = "other-gpu"
    GPU_CODE = "gpu-code"
    GPU_CODE_NOT_PROVEN = "gpu-code-not-proven"
    KNOWN_TRAP = "known-trap"
    LAST_DRIVER = "last-driver"
    DRIVER_RELEASE = "driver-release"
    DRIVER_NOT_KNOWN = "driver-not-known"
    PTX_DRIVER = "ptx-driver"
    FORWARD_COMPATIBILITY = "forward-compatibility"
    IMAGE_DRIVER_GATE = "image-driver-gate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One comparison of the environment with the machine.

    Attributes:
        fit: Best verdict that this reason allows.
        text: The result, in a sentence.
        asked: The value of the machine.
        has: What the environment has or needs.
        sources: Where the rule or the figure is documented.
        change: A change that would satisfy it; empty unless it rules the environment out.
        is_caveat: Whether it allows `fits` at a cost.
    """

    aspect: Aspect
    rule: Rule
    fit: Fit
    text: str
    asked: str = ""
    has: str = ""
    sources: tuple[Source, ...] = ()
    change: str = ""
    is_caveat: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuCompatibility:
    """The verdict for one kind of GPU of a machine.

    Attributes:
        capability: Its compute capability; None if unknown.
        support: Its support by the environment; None if its compute capability is unknown.
        reasons: In the order in which they were examined.
        driver: The driver that it needs; None if the image has no code for the GPU.
    """

    gpu: HostGpu
    capability: Release | None
    support: GpuSupport | None
    reasons: tuple[Reason, ...]
    driver: DriverNeed | None

    @property
    def fit(self) -> Fit:
        """Worst verdict of all reasons."""
        return worst(reason.fit for reason in self.reasons)


@dataclass(frozen=True, slots=True, kw_only=True)
class Compatibility:
    """The verdict for an environment on a machine.

    Attributes:
        base: Id of the base that the verdict holds for.
        reasons: All reasons, each once. Where a machine has several kinds of GPU, those of the best kind; the others
            are one caveat each.
        gpus: One entry for each kind of GPU; empty if the environment uses none, or the machine has none.
        driver: The driver that the usable GPUs need, or the libraries alone if no GPU is known; None for a CPU
            environment.
        bare: Why the wheels do not run on the host without a container; empty if nothing rules that out.
    """

    environment: str
    base: str
    reasons: tuple[Reason, ...]
    gpus: tuple[GpuCompatibility, ...] = ()
    driver: DriverNeed | None = None
    bare: str = ""

    @property
    def fit(self) -> Fit:
        """Worst verdict of all reasons."""
        return worst(reason.fit for reason in self.reasons)

    @property
    def deciding(self) -> tuple[Reason, ...]:
        """Reasons that decide the verdict, and the caveats if it fits."""
        return tuple(reason for reason in self.reasons if reason.fit is self.fit)

    @property
    def caveats(self) -> tuple[Reason, ...]:
        """Costs of a verdict that fits."""
        return tuple(reason for reason in self.reasons if reason.is_caveat)

    @property
    def changes(self) -> tuple[str, ...]:
        """Changes that would make it fit, without duplicates."""
        return tuple(dict.fromkeys(reason.change for reason in self.reasons if reason.change))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Requirements of an image for a machine.

    Attributes:
        wheel: The TensorFlow wheel: C library and AVX.
        need: CUDA requirements of the wheel; None for a CPU environment.
        cuda: Release of the CUDA libraries in the image; None for a CPU environment.
        cudnn: Release of cuDNN in the image; likewise.
        has_compat_library: Whether the image is NVIDIA's, which contains a driver library for forward compatibility and
            a condition on the driver.
    """

    environment: str
    base: str
    wheel: FrameworkWheel
    need: CudaNeed | None
    cuda: Release | None
    cudnn: Release | None
    has_compat_library: bool
    advisories: tuple[Advisory, ...]


def stack_of(row: Environment, choice: BaseChoice | None) -> Stack:
    """Return the requirements of an environment on a base; without one, of its wheel with the CUDA of its build."""
    need, system = row.cuda, choice.system if choice else None
    return Stack(
        environment=row.id,
        base=system.id if system else "",
        wheel=row.framework,
        need=need,
        cuda=((choice and choice.cuda) or need.compiled) if need else None,
        cudnn=((choice and choice.cudnn) or need.cudnn.compiled) if need else None,
        has_compat_library=system is not None and system.kind is BaseKind.IMAGE,
        advisories=row.advisories,
    )


WORDS = {
    Fit.FITS: "fits",
    Fit.JIT: "fits, JIT",
    Fit.UNKNOWN: "unknown",
    Fit.CPU_ONLY: "CPU only",
    Fit.NO: "no",
}
"""Verdicts as people read them."""


def why(verdict: Compatibility) -> tuple[str, ...]:
    """Return the sentences that explain a verdict, without those that only confirm it."""
    reasons = verdict.deciding
    if verdict.fit is Fit.NO and any(reason.aspect is Aspect.GPU for reason in reasons):
        # No other driver helps a GPU without code for it.
        reasons = tuple(reason for reason in reasons if reason.aspect is not Aspect.DRIVER)
    if verdict.fit is Fit.FITS:
        reasons = tuple(reason for reason in reasons if reason.aspect is Aspect.GPU or reason.is_caveat)
    elif verdict.fit is Fit.JIT:
        reasons = (*reasons, *verdict.caveats)
    return tuple(dict.fromkeys(reason.text for reason in reasons))
