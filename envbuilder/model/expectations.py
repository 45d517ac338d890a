"""What the checks compare the facts with."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import Version

from envbuilder.model.cuda import Coverage, CudnnNeed, GpuCode, PtxIsa
from envbuilder.model.memory import MemoryPolicy
from envbuilder.model.versions import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaExpectation:
    """The CUDA side of an image.

    Attributes:
        compiled: CUDA release that the wheel was compiled with.
        linkage: `needed` when `import tensorflow` fails without the libraries, `dlopen` when they are opened later.
        release: CUDA release of the libraries in the image.
        cudnn: What the wheel accepts as cuDNN.
        cudnn_release: Release of cuDNN in the image.
        driver: Oldest driver for the libraries.
        sonames: Libraries that must open, sorted.
        optional: Libraries that only a feature needs, sorted.
        code: GPU code in the wheel.
        ptx: Which CUDA release's driver compiles which PTX; empty where it is not known.
    """

    compiled: Release
    linkage: str
    release: Release
    cudnn: CudnnNeed
    cudnn_release: Release
    driver: Release
    sonames: tuple[str, ...]
    optional: tuple[str, ...]
    code: GpuCode
    ptx: tuple[PtxIsa, ...] = ()

    def compiler(self, capability: Release) -> Release:
        """The CUDA release that a driver must support to compile what this GPU has no machine code for.

        The release that the wheel was compiled with, where the version of the PTX is not known.
        """
        known = {entry.isa: entry.cuda for entry in self.ptx}
        needed = [
            known.get(family.isa, self.compiled) if family.isa else self.compiled
            for family in self.code.families
            if family.coverage(capability) is Coverage.JIT
        ]
        return max(needed, default=self.compiled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What an image must be.

    Attributes:
        environment: Id of the row.
        python: Interpreter, as exact as the lock says: `3.8` or `3.8.18`.
        framework: Distribution name of TensorFlow, normalized.
        framework_version: Its version.
        cuda: The CUDA side; None for a CPU image.
        distributions: `(normalized name, version)` of all that must be installed, sorted.
        glibc: Oldest C library that the wheel runs with.
        needs_avx: Whether the wheel needs a processor with AVX.
        deviations: In which the image differs from what the wheel was compiled with.
        memory: Memory policy; None where no hook gives it to TensorFlow.
    """

    environment: str
    python: Release
    framework: str
    framework_version: Version
    cuda: CudaExpectation | None
    distributions: tuple[tuple[str, str], ...]
    glibc: Release
    needs_avx: bool
    deviations: tuple[str, ...]
    memory: MemoryPolicy | None = None
