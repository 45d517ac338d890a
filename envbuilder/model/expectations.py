"""What the checks compare the facts with."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import Version

from envbuilder.model.cuda import CudnnNeed, GpuCode
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
