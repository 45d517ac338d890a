"""The installed TensorFlow and related packages, from the facts of one interpreter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from packaging.version import Version

from envbuilder.core.names import version_of
from envbuilder.core.versions import Release, release_of
from envbuilder.diagnostics.facts.facts import Facts, Imported, Seen, known
from envbuilder.diagnostics.facts.host import CudaFile, Distribution, SoftwareFacts
from envbuilder.diagnostics.facts.node import Interpreter
from envbuilder.diagnostics.host.examination import InstalledLibrary, LibraryOrigin

TENSORFLOW, KERAS = "tensorflow", "keras"
_STEM = re.compile(r"(lib\w+)\.so\.([\d.]+)$")
_WHEEL = re.compile(r"/nvidia/(\w+)/lib(?:/|$)")
_TOOLKIT = re.compile(r"^(/[^/]+(?:/[^/]+)*?/cuda[^/]*)/")


@dataclass(frozen=True, kw_only=True)
class Installed:
    """The environment of one interpreter.

    Attributes:
        names: Distributions of TensorFlow in the catalog; for facts without the owner of the module.
    """

    facts: Facts
    names: frozenset[str]

    @cached_property
    def interpreter(self) -> Interpreter | None:
        """The interpreter that ran the probe."""
        return known(self.facts.interpreter)

    @cached_property
    def software(self) -> SoftwareFacts | None:
        """The facts that were read from files."""
        return known(self.facts.software)

    @cached_property
    def imported(self) -> Imported | None:
        """TensorFlow after its import, if that was tried."""
        return known(self.facts.imported)

    @cached_property
    def is_seen(self) -> bool:
        """True if the installed packages were examined."""
        return self.software is not None or isinstance(self.facts.distributions, Seen)

    @property
    def python(self) -> str:
        """The interpreter as typed on a command line."""
        return self.interpreter.executable if self.interpreter else "python"

    @cached_property
    def distributions(self) -> tuple[Distribution, ...]:
        """Every distribution, in the order of `sys.path`."""
        if self.software:
            return self.software.distributions
        listed = known(self.facts.distributions) or ()
        return tuple(
            Distribution(
                name=name,
                version=version,
                modules=(TENSORFLOW,) if name in self.names else (KERAS,) if name == KERAS else (),
            )
            for name, version in listed
        )

    @cached_property
    def packages(self) -> dict[str, Distribution]:
        """The effective distribution of each name: the first on the path."""
        found: dict[str, Distribution] = {}
        for each in self.distributions:
            found.setdefault(each.name, each)
        return found

    def version(self, name: str) -> Version | None:
        """Return the version of a distribution; None if it is not installed, or has none."""
        found = self.packages.get(name)
        return version_of(found.version) if found else None

    @cached_property
    def frameworks(self) -> tuple[Distribution, ...]:
        """The distributions that installed TensorFlow's files, in the order of the path."""
        owners = [each for each in self.distributions if TENSORFLOW in each.modules]
        return tuple(owners) or tuple(each for each in self.distributions if each.name in self.names)

    @property
    def framework(self) -> Distribution | None:
        """The distribution of the TensorFlow that is imported."""
        return self.frameworks[0] if self.frameworks else None

    @property
    def has_files(self) -> bool:
        """True if there is a module `tensorflow`, with a distribution or without."""
        return self.software.tensorflow is not None if self.software else bool(self.frameworks)

    @cached_property
    def release(self) -> Version | None:
        """Version of TensorFlow; None without TensorFlow, and if it is unknown."""
        text = self.imported.version if self.imported else self.framework.version if self.framework else ""
        return version_of(text)

    @cached_property
    def info(self) -> dict[str, str]:
        """Build properties that TensorFlow states."""
        if isinstance(self.facts.build, Seen):
            return dict(self.facts.build.value.info)
        return dict(self.software.tensorflow.info) if self.software and self.software.tensorflow else {}

    @cached_property
    def is_cuda_build(self) -> bool | None:
        """True if TensorFlow was built with CUDA; None if unknown."""
        if isinstance(self.facts.build, Seen):
            return self.facts.build.value.cuda
        stated = self.info.get("is_cuda_build")
        if stated is not None:
            return stated == "True"
        linked = bool(self.software and self.software.tensorflow and self.software.tensorflow.needed)
        return True if linked else None

    @property
    def is_rocm_build(self) -> bool:
        """True if TensorFlow was built for AMD's GPUs."""
        return self.info.get("is_rocm_build") == "True"

    @property
    def cuda(self) -> Release | None:
        """CUDA release that TensorFlow states for its build."""
        return _stated_release(self.info, "cuda_version", "cuda_version_number")

    @property
    def cudnn(self) -> Release | None:
        """Release of cuDNN that TensorFlow states for its build; often the major number only."""
        return _stated_release(self.info, "cudnn_version", "cudnn_version_number")

    @property
    def builtin_keras(self) -> str:
        """Version of the Keras inside TensorFlow; empty if it is a distribution, or unknown."""
        return self.software.tensorflow.keras if self.software and self.software.tensorflow else ""

    @cached_property
    def libraries(self) -> tuple[InstalledLibrary, ...]:
        """The CUDA libraries by the names that programs open, in the order in which the loader searches."""
        if self.software is None:
            return self._opened
        files = [file for file in self.software.files if not _is_longer_name(file, self.software.files)]
        return tuple(self._library(file, self.software.conda) for file in files)

    @cached_property
    def _opened(self) -> tuple[InstalledLibrary, ...]:
        """Libraries that the probe opened: the only ones in facts of earlier probes."""
        loads = known(self.facts.libraries) or ()
        return tuple(
            InstalledLibrary(
                name=each.soname,
                path=each.load.value.path,
                via=each.load.value.via,
                origin=_origin(each.load.value.path, each.load.value.via, ""),
                version=each.load.value.version,
            )
            for each in loads
            if isinstance(each.load, Seen) and each.load.value.loaded
        )

    def reached(self, soname: str) -> InstalledLibrary | None:
        """Return the library that TensorFlow loads by this name; None if the loader finds none."""
        return next((each for each in self.libraries if each.name == soname and each.via), None)

    def _library(self, file: CudaFile, conda: str) -> InstalledLibrary:
        return InstalledLibrary(
            name=file.name,
            path=file.path,
            via=file.via,
            origin=_origin(file.path, file.via, conda),
            version=self._reported_version(file) or _of_file_name(file) or self._of_wheel(file),
        )

    def _reported_version(self, file: CudaFile) -> Release | None:
        """Return the version that the library itself reports, if the probe opened this very file."""
        loads = known(self.facts.libraries) or ()
        for each in loads:
            if each.soname == file.name and isinstance(each.load, Seen) and each.load.value.path == file.real:
                return each.load.value.version
        return None

    def _of_wheel(self, file: CudaFile) -> Release | None:
        """Return the version of NVIDIA's wheel that the file belongs to."""
        inside = _WHEEL.search(file.path)
        if inside is None:
            return None
        name = re.compile(rf"nvidia-{inside[1].replace('_', '-')}(-cu\d+)?")
        major = _major_of(file.path)
        fitting = [each for each in self.distributions if name.fullmatch(each.name)]
        for each in sorted(fitting, key=lambda each: not each.name.endswith(f"-cu{major}")):
            if (release := release_of(each.version)) is not None:
                return release
        return None


def _stated_release(info: dict[str, str], *names: str) -> Release | None:
    for name in names:
        if (release := release_of(info.get(name, ""))) is not None:
            return release
    return None


def _is_longer_name(file: CudaFile, files: tuple[CudaFile, ...]) -> bool:
    """Return True for `libcublas.so.11.2.0.252` beside `libcublas.so.11`, which is a link to it."""
    directory = PurePosixPath(file.path).parent
    return any(
        file.name.startswith(f"{other.name}.")
        and PurePosixPath(other.path).parent == directory
        and other.real == file.real
        for other in files
    )


def _of_file_name(file: CudaFile) -> Release | None:
    """Return the version in the name of the file itself, if it has more numbers than the name that programs open."""
    inside = _STEM.search(file.real)
    known = _STEM.search(file.name)
    if inside and known and len(inside[2].split(".")) > max(len(known[2].split(".")), 1):
        return release_of(inside[2])
    return None


def _major_of(path: str) -> str:
    """Return the major number in a file name: that of CUDA, except for cuDNN and NCCL."""
    found = _STEM.search(path)
    return found[2].partition(".")[0] if found else ""


def _origin(path: str, via: str, conda: str) -> LibraryOrigin:
    if _WHEEL.search(path):
        return LibraryOrigin.WHEEL
    if conda and path.startswith(f"{conda}/"):
        return LibraryOrigin.CONDA
    if via == "LD_LIBRARY_PATH":
        return LibraryOrigin.ENVIRONMENT
    return LibraryOrigin.TOOLKIT if _TOOLKIT.match(path) else LibraryOrigin.SYSTEM
