"""Measurement of a TensorFlow wheel: only values read from its files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from envbuilder.catalog.cuda import CudnnNeed, KernelFamily
from envbuilder.core.versions import Release
from envbuilder.curation.wheel_audit.metadata import WheelMetadata

BuildValue: TypeAlias = "str | bool | tuple[str, ...]"

FAMILIES = ("cuda", "mlir")
"""Names of the kernel families, in the order of a row."""

_MAIN = re.compile(
    r"libtensorflow_framework\.so(\.\d+)?|libtensorflow_cc\.so(\.\d+)?|lib_pywrap_tensorflow_common\.so"
    r"|_pywrap_tensorflow(_internal)?\.so"
)
_CUDA = re.compile(
    r"lib(cuda|cudart|cublas|cublasLt|cufft|curand|cusolver|cusparse|cudnn\w*|cupti|nccl|nvinfer\w*|nvrtc|nvjitlink"
    r"|nvidia-ml|nvshmem\w*|nvToolsExt)\.so(\.|$)"
)
_DRIVER = ("libcuda.so", "libnvidia-ml.so")
_TENSORRT = "libnvinfer"
_RUNTIME = re.compile(r"libcudart\.so\.(\d+\.\d+)")
_NVIDIA_FOLDER = re.compile(r"/(?:nvidia/([^/]+)/lib|(tensorrt))/?$")


def is_main(name: str) -> bool:
    """Return True if `import tensorflow` loads a library of this file name."""
    return _MAIN.fullmatch(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class PtxTarget:
    """One kind of PTX in a family of kernels.

    Attributes:
        capability: Capability of its fatbin entry, by which the driver chooses.
        isa: Version of the PTX language, from the first lines of the text; None when they could not be read.
        target: Target of the text, such as `sm_90a`; empty if it could not be read.
        beside_machine: Whether its fatbin has machine code for the same capability.
    """

    capability: Release
    isa: Release | None
    target: str
    beside_machine: bool

    @property
    def forward(self) -> bool:
        """True if newer GPUs can compile it; False for `sm_90a`, and if the target could not be read."""
        return self.target[-1:].isdigit()


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyCode:
    """GPU code of one family in one library.

    Attributes:
        name: `cuda` for kernels built by nvcc, in sections of their own; `mlir` for fatbins anywhere else.
        fatbins: Their number.
        machine: Capabilities with machine code, ascending.
        ptx: The kinds of PTX, each once, ascending.
    """

    name: str
    fatbins: int
    machine: tuple[Release, ...]
    ptx: tuple[PtxTarget, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLibrary:
    """One shared library of a wheel.

    Attributes:
        path: In the wheel.
        size: In bytes, unpacked.
        machine: Processor, in the words of pyelftools: `x64` is x86-64.
        needed: ELF dependencies, in file order.
        runpath: Directories of its RUNPATH, or else RPATH, in file order, each once.
        glibc: Newest glibc symbol version that it needs; None when it needs none.
        glibcxx: The same of libstdc++.
        cxxabi: The same of the C++ ABI.
        code: GPU code by family, in the order `cuda`, `mlir`; without families that it does not have.
        bare_cubins: GPU programs outside of any fatbin.
    """

    path: str
    size: int
    machine: str
    needed: tuple[str, ...]
    runpath: tuple[str, ...]
    glibc: Release | None
    glibcxx: Release | None
    cxxabi: Release | None
    code: tuple[FamilyCode, ...]
    bare_cubins: int

    @property
    def name(self) -> str:
        """Its file name, without directories."""
        return self.path.rsplit("/", 1)[-1]

    @property
    def is_main(self) -> bool:
        """True if `import tensorflow` loads it."""
        return is_main(self.name)

    @property
    def is_bundled(self) -> bool:
        """True if it is one of NVIDIA's own, shipped inside of the wheel: 1.7 contains TensorRT."""
        return _CUDA.match(self.name) is not None

    @property
    def cuda_needed(self) -> tuple[str, ...]:
        """The CUDA libraries among its dependencies, with the driver's own and TensorRT, in file order."""
        return tuple(soname for soname in self.needed if _CUDA.match(soname))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The measurement of a wheel.

    Attributes:
        metadata: Content of its METADATA and WHEEL.
        file: Its file name.
        sha256: Of the whole file, 64 hexadecimal digits.
        size: Of the whole file, in bytes.
        python_tag: Interpreter and ABI in the file name, such as `cp38-cp38`.
        platform_tag: Platforms in the file name, joined by dots.
        build_info: Build properties that TensorFlow states, sorted by name; empty if there are none.
        libraries: All shared libraries, sorted by path; at least one.
        opened: `(loader, soname)` that TensorFlow opens at run time, sorted; empty when it opens none or that cannot be
            read.
        cudnn: The cuDNN that it was compiled against and the accepted ones; None if unknown or without cuDNN.
        needs_avx: Whether code that always runs uses AVX; None if unknown.
    """

    metadata: WheelMetadata
    file: str
    sha256: str
    size: int
    python_tag: str
    platform_tag: str
    build_info: tuple[tuple[str, BuildValue], ...]
    libraries: tuple[MeasuredLibrary, ...]
    opened: tuple[tuple[str, str], ...]
    cudnn: CudnnNeed | None
    needs_avx: bool | None

    @property
    def main_libraries(self) -> tuple[MeasuredLibrary, ...]:
        """Libraries that `import tensorflow` loads, sorted by path."""
        return tuple(library for library in self.libraries if library.is_main)

    @property
    def glibc(self) -> Release | None:
        """Newest glibc symbol version that any library needs."""
        return _newest(library.glibc for library in self.libraries)

    @property
    def glibcxx(self) -> Release | None:
        """Newest libstdc++ symbol version that any library needs."""
        return _newest(library.glibcxx for library in self.libraries)

    @property
    def cxxabi(self) -> Release | None:
        """Newest C++ ABI version that any library needs."""
        return _newest(library.cxxabi for library in self.libraries)

    @property
    def needed_cuda(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """CUDA libraries that are ELF dependencies, each with the names of the libraries that need it; all sorted."""
        pairs = {(soname, library.name) for library in self.libraries for soname in library.cuda_needed}
        sonames = sorted({soname for soname, _ in pairs})
        return tuple((soname, tuple(sorted(name for which, name in pairs if which == soname))) for soname in sonames)

    @property
    def linkage(self) -> str:
        """`needed` when `import tensorflow` fails without the CUDA libraries, else `dlopen`; empty for a CPU wheel."""
        if any(library.cuda_needed for library in self.main_libraries):
            return "needed"
        return "dlopen" if self.families or dict(self.build_info).get("is_cuda_build") is True else ""

    @property
    def sonames(self) -> tuple[str, ...]:
        """CUDA libraries that TensorFlow links or opens, sorted; without the driver's own and TensorRT.

        A library that only a side library links (NCCL's operations) is not one of them.
        """
        linked = {soname for library in self.main_libraries for soname in library.cuda_needed}
        opened = {soname for _, soname in self.opened} if self.linkage else set()
        return tuple(sorted(name for name in linked | opened if not name.startswith((*_DRIVER, _TENSORRT))))

    @property
    def compiled(self) -> Release | None:
        """CUDA release that it was compiled with, as exactly as stated; None if it is not stated.

        Up to 1.15 and 2.0 build_info has the major number only, or nothing; there the runtime's soname is used.
        """
        facts = dict(self.build_info)
        version = facts.get("cuda_version", facts.get("cuda_version_number", ""))
        if isinstance(version, str) and re.fullmatch(r"\d+(\.\d+)+", version):
            return Release(version)
        names = " ".join(self.sonames)
        runtime = _RUNTIME.search(names)
        return Release(runtime[1]) if runtime else None

    @property
    def families(self) -> tuple[KernelFamily, ...]:
        """GPU code of TensorFlow's own libraries by family, in the order `cuda`, `mlir`.

        Libraries of NVIDIA in the wheel are left out: their GPU code is unrelated to TensorFlow's kernels.
        """
        return tuple(family for name in FAMILIES for family in self._family(name))

    def _family(self, name: str) -> Iterator[KernelFamily]:
        own = (library for library in self.libraries if not library.is_bundled)
        parts = [code for library in own for code in library.code if code.name == name]
        if parts:
            targets = [target for part in parts for target in part.ptx]
            yield KernelFamily(
                name=name,
                machine=tuple(sorted({capability for part in parts for capability in part.machine})),
                ptx=tuple(sorted({target.capability for target in targets})),
                forward=all(target.forward for target in targets),
                isa=_newest(target.isa for target in targets),
            )

    @property
    def nvidia_folders(self) -> tuple[str, ...]:
        """NVIDIA's Python packages that `libtensorflow_framework` searches by itself, sorted."""
        folders = (
            _NVIDIA_FOLDER.search(folder)
            for library in self.libraries
            if library.name.startswith("libtensorflow_framework.so")
            for folder in library.runpath
        )
        return tuple(sorted({match[1] or match[2] for match in folders if match}))


def _newest(releases: Iterator[Release | None]) -> Release | None:
    return max((release for release in releases if release is not None), default=None)
