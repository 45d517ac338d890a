"""GPU coverage of a row on one of its bases: TensorFlow's kernels, the CUDA libraries, cuDNN.

Derived from the GPU code in the files, not from runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from envbuilder.catalog.cuda import Coverage, CudaFacts, CudaNeed, KernelFamily
from envbuilder.catalog.driver_floors import driver_floor, knowing_driver
from envbuilder.catalog.environments import BaseChoice, Environment
from envbuilder.catalog.gpus import Architecture
from envbuilder.core.versions import Release


class Part(StrEnum):
    """Software with GPU code."""

    TENSORFLOW = "tensorflow"
    CUDA = "cuda"
    CUDNN = "cudnn"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartCoverage:
    """Coverage of a GPU by one part.

    Attributes:
        family: Kernel family of TensorFlow, such as `mlir`; empty for the other parts.
        coverage: The coverage; None if it is not proven.
        text: Why, in words that hold for every GPU with the same reason.
    """

    part: Part
    coverage: Coverage | None
    text: str
    family: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSupport:
    """Support for the GPUs of one compute capability.

    Attributes:
        reasons: One for each kernel family, one for the CUDA libraries, one for cuDNN.
        ptx_driver: Oldest driver that compiles the PTX; None if none is compiled, or if it is unknown.
        driver: Oldest driver that starts the libraries, supports the GPU and compiles the PTX; None if it is unknown,
            or if no driver is enough.
    """

    architecture: Architecture
    reasons: tuple[PartCoverage, ...]
    ptx_driver: Release | None
    driver: Release | None

    @property
    def coverage(self) -> Coverage:
        """Lowest coverage of all parts; a part that is not proven counts like TensorFlow's own kernels."""
        return _worst(self.reasons)

    @property
    def doubts(self) -> tuple[PartCoverage, ...]:
        """Reasons why the coverage is not proven; empty if it is proven or if there is none."""
        if self.coverage is Coverage.NONE:
            return ()
        return tuple(reason for reason in self.reasons if reason.coverage is None)

    @property
    def why(self) -> tuple[PartCoverage, ...]:
        """Deciding reasons: those with the lowest coverage, TensorFlow's first, and the doubts."""
        deciding = [reason for reason in self.reasons if reason.coverage is self.coverage]
        if self.coverage is Coverage.MACHINE_CODE:
            deciding = [reason for reason in deciding if reason.part is Part.TENSORFLOW]
        return (*deciding, *self.doubts)

    @property
    def description(self) -> str:
        """All reasons in one line; a reason that kernel families share is stated once."""
        families_by_text: dict[str, list[str]] = {}
        for reason in self.why:
            families_by_text.setdefault(reason.text, []).append(reason.family)
        return "; ".join(
            f"{' and '.join(families)} kernels: {text}" if any(families) else text
            for text, families in families_by_text.items()
        )


def support(facts: CudaFacts, row: Environment, choice: BaseChoice) -> tuple[GpuSupport, ...]:
    """Return the support for each compute capability from an environment on a base.

    Returns:
        In the order of `CudaFacts.architectures`; empty for a CPU row.

    Raises:
        KeyError: No driver is known for the CUDA release; a loaded catalog has no such release.
    """
    found = (support_of(facts, row, choice, architecture.capability) for architecture in facts.architectures)
    return tuple(each for each in found if each is not None)


def support_of(facts: CudaFacts, row: Environment, choice: BaseChoice, capability: Release) -> GpuSupport | None:
    """Return the support for GPUs of one compute capability from an environment on a base.

    Returns:
        None for a CPU environment.

    Raises:
        KeyError: As `support`.
    """
    if row.cuda is None:
        return None
    libraries = (choice.cuda or row.cuda.compiled, choice.cudnn or row.cuda.cudnn.compiled)
    return support_by(facts, row.cuda, libraries, capability)


def support_by(facts: CudaFacts, need: CudaNeed, libraries: tuple[Release, Release], capability: Release) -> GpuSupport:
    """Return the support for GPUs of one compute capability; for one outside the catalog, from the kernels alone.

    The libraries are the releases of CUDA and cuDNN in the image.

    Raises:
        KeyError: As `support`.
    """
    known = next((each for each in facts.architectures if each.capability == capability), None)
    if known is not None:
        return _support(facts, known, need.code, libraries, driver_floor(facts, libraries[0]))
    kernels = tuple(_kernels(family, capability) for family in need.code)
    doubt = PartCoverage(part=Part.CUDA, coverage=None, text="not proven: the catalog has no data for this GPU")
    unknown = Architecture(capability=capability, generation="", gpus=(), since=Release("0"), last=None)
    return GpuSupport(architecture=unknown, reasons=(*kernels, doubt), ptx_driver=None, driver=None)


def _support(
    facts: CudaFacts,
    architecture: Architecture,
    families: tuple[KernelFamily, ...],
    libraries: tuple[Release, Release],
    floor: Release,
) -> GpuSupport:
    cuda, cudnn = libraries
    reasons = (
        *(_kernels(family, architecture.capability) for family in families),
        _cuda(cuda, architecture),
        _cudnn(facts, cudnn, architecture.capability),
    )
    if _worst(reasons) is Coverage.NONE:
        return GpuSupport(architecture=architecture, reasons=reasons, ptx_driver=None, driver=None)
    compiled = [family for family in families if family.coverage(architecture.capability) is Coverage.JIT]
    ptx_driver = _ptx_driver(facts, compiled)
    known = [driver for driver in (floor, knowing_driver(facts, architecture.since), ptx_driver) if driver]
    return GpuSupport(
        architecture=architecture,
        reasons=reasons,
        ptx_driver=ptx_driver,
        driver=None if compiled and ptx_driver is None else max(known),
    )


def _worst(reasons: tuple[PartCoverage, ...]) -> Coverage:
    order = (Coverage.NONE, Coverage.JIT, Coverage.MACHINE_CODE)
    return min((reason.coverage for reason in reasons if reason.coverage is not None), key=order.index)


def _ptx_driver(facts: CudaFacts, compiled: list[KernelFamily]) -> Release | None:
    """Return the oldest driver that compiles the PTX; minor-version compatibility does not extend to PTX.

    Source: https://docs.nvidia.com/deploy/cuda-compatibility/, limits of minor-version compatibility, read 2026-11-20.
    """
    drivers = [_compiler(facts, family) for family in compiled]
    known = [driver for driver in drivers if driver is not None]
    return max(known) if known and len(known) == len(drivers) else None


def _compiler(facts: CudaFacts, family: KernelFamily) -> Release | None:
    cuda = facts.ptx_cuda(family.isa) if family.isa else None
    return knowing_driver(facts, cuda) if cuda else None


def _kernels(family: KernelFamily, capability: Release) -> PartCoverage:
    coverage = family.coverage(capability)
    return PartCoverage(part=Part.TENSORFLOW, family=family.name, coverage=coverage, text=_has(family, capability))


def _has(family: KernelFamily, capability: Release) -> str:
    """Return the code of a kernel family for a GPU, in words.

    Example:
        >>> mlir = KernelFamily(name="mlir", machine=(Release("8.0"),), ptx=(Release("9.0"),), forward=False)
        >>> _has(mlir, Release("8.6"))
        'machine code for 8.0'
        >>> _has(mlir, Release("9.0"))
        'only PTX for 9.0 (version not known), which the driver compiles on first use'
        >>> _has(mlir, Release("12.0"))
        'no machine code for this GPU, and their PTX for 9.0 is bound to that architecture'
        >>> _has(mlir, Release("5.0"))
        'no code for a GPU this old; the oldest is for 8.0'
    """
    match family.coverage(capability):
        case Coverage.MACHINE_CODE:
            return f"machine code for {max(_usable(family.machine, capability))}"
        case Coverage.JIT:
            version = f"version {family.isa}" if family.isa else "version not known"
            newest = max(_usable(family.ptx, capability))
            return f"only PTX for {newest} ({version}), which the driver compiles on first use"
        case Coverage.NONE:
            return _lack(family, capability)


def _usable(codes: tuple[Release, ...], capability: Release) -> Iterator[Release]:
    return (code for code in codes if code <= capability)


def _lack(family: KernelFamily, capability: Release) -> str:
    codes = (*family.machine, *family.ptx)
    if codes and capability < min(codes):
        return f"no code for a GPU this old; the oldest is for {min(codes)}"
    if not family.ptx:
        return "no machine code for this GPU, and no PTX"
    if not family.forward and max(family.ptx) < capability:
        return f"no machine code for this GPU, and their PTX for {max(family.ptx)} is bound to that architecture"
    return f"no machine code for this GPU, and the oldest PTX is for {min(family.ptx)}"


def _cuda(cuda: Release, architecture: Architecture) -> PartCoverage:
    since, last = architecture.since, architecture.last
    if last is not None and cuda.head(2) > last.head(2):
        text = f"CUDA {cuda} has dropped this GPU; the last release with it is {last}"
        return PartCoverage(part=Part.CUDA, coverage=Coverage.NONE, text=text)
    if cuda.head(2) < since.head(2):
        text = f"not proven: CUDA {cuda} is older than this GPU, which came with CUDA {since}"
        return PartCoverage(part=Part.CUDA, coverage=None, text=text)
    return PartCoverage(part=Part.CUDA, coverage=Coverage.MACHINE_CODE, text=f"CUDA {cuda} supports this GPU")


def _cudnn(facts: CudaFacts, cudnn: Release, capability: Release) -> PartCoverage:
    code = facts.cudnn_code(cudnn)
    if code is None:
        text = f"not proven: which GPUs cuDNN {cudnn} has code for is not known"
        return PartCoverage(part=Part.CUDNN, coverage=None, text=text)
    if capability < code.oldest:
        text = f"cuDNN {cudnn} has code from {code.oldest} on, so convolutions fail on this GPU"
        return PartCoverage(part=Part.CUDNN, coverage=Coverage.NONE, text=text)
    if code.newest is not None and code.newest.major < capability.major:
        text = f"not proven: cuDNN {cudnn} has machine code up to {code.newest}, and this GPU is newer"
        return PartCoverage(part=Part.CUDNN, coverage=None, text=text)
    text = f"cuDNN {cudnn} has code from {code.oldest} on"
    return PartCoverage(part=Part.CUDNN, coverage=Coverage.MACHINE_CODE, text=text)
