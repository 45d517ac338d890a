"""Expected properties of an image, for the checks."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import Version

from envbuilder.catalog.cuda import CudaFacts, CudaNeed
from envbuilder.catalog.driver_requirements import need_of
from envbuilder.catalog.verdicts import Stack
from envbuilder.core.memory_policy import MemoryPolicy
from envbuilder.core.versions import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaExpectation:
    """CUDA properties of an image.

    Attributes:
        need: CUDA requirements of the wheel.
        release: CUDA release of the libraries in the image.
        cudnn_release: Release of cuDNN in the image.
        sonames: Libraries that must open, sorted.
        stack: Requirements of the image for a machine.
    """

    need: CudaNeed
    release: Release
    cudnn_release: Release
    sonames: tuple[str, ...]
    stack: Stack
    tables: CudaFacts

    @property
    def driver(self) -> Release:
        """Oldest driver for the libraries."""
        return need_of(self.tables, self.release, ()).least


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """Expected properties of an image.

    Attributes:
        python: Interpreter, as exact as in the lock: `3.8` or `3.8.18`.
        framework: Distribution name of TensorFlow, normalized.
        cuda: The CUDA properties; None for a CPU image.
        distributions: `(normalized name, version)` of all distributions that must be installed, sorted.
        glibc: Oldest C library that the wheel runs with.
        needs_avx: Whether the wheel needs a processor with AVX.
        deviations: Differences between the image and the environment that the wheel was compiled in, and missing
            updates of Debian.
        memory: Memory policy; None if no hook passes it to TensorFlow.
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
