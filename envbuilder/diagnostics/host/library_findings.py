"""Findings about the CUDA libraries for the installed TensorFlow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from envbuilder.catalog.cuda import CudaNeed, Linkage
from envbuilder.diagnostics.facts.facts import Seen
from envbuilder.diagnostics.findings import Finding, Remedy, Severity, finding, problem, warning
from envbuilder.diagnostics.host.examination import InstalledLibrary, LibraryOrigin
from envbuilder.diagnostics.host.installation import Installation
from envbuilder.diagnostics.host.nearest_environment import row_of

_CUDNN = "libcudnn"
_APART = frozenset({_CUDNN, "libnccl"})
"""Libraries that NVIDIA releases independently of CUDA, so that they may be elsewhere."""
_TOOLKIT = re.compile(r"/cuda-\d[^/]*(?=/)")
_PATH = "LD_LIBRARY_PATH"


def cpu_build(installation: Installation) -> Iterator[Finding]:
    """Report a TensorFlow without CUDA on a machine with GPUs."""
    installed = installation.installed
    if installed.is_cuda_build is not False or not installation.has_gpus or installed.is_rocm_build:
        return
    row = row_of(installation.catalog, installed.release, cuda=True) if installed.release else None
    runs = row if row and installation.is_available(row.id) else None
    command = f"envbuilder build {runs.id}{runs.bases[0].build_options}" if runs else ""
    yield warning(
        "cpu-build-on-gpu-machine",
        f"{installation.name} is built without CUDA, and this machine has a GPU",
        "all computation runs on the CPU",
        *(
            (Remedy(text="use the GPU build of this release", command=command),)
            if runs
            else (Remedy(text="find a GPU environment for this machine", command="envbuilder advise"),)
        ),
    )


def libraries_missing(installation: Installation) -> Iterator[Finding]:
    """Report CUDA libraries that TensorFlow opens and the loader does not find."""
    need = _need_of_searched(installation)
    missing = [name for name in need.sonames if installation.installed.reached(name) is None] if need else []
    if need is None or not missing:
        return
    aside = {each.name: each for each in installation.installed.libraries if not each.via and each.name in missing}
    nowhere = [name for name in missing if name not in aside]
    severity, effect = _cost(installation, need)
    if aside:
        directories = list(dict.fromkeys(_directory(each) for each in aside.values()))
        yield finding(
            "cuda-libraries-unreachable",
            severity,
            f"{', '.join(aside)}: installed in {', '.join(directories)}, where {installation.name} does not look",
            effect,
            Remedy(
                text="add their directories to the path",
                command=f"export {_PATH}={':'.join(directories)}${{{_PATH}:+:${_PATH}}}",
            ),
        )
    if nowhere:
        others = list(dict.fromkeys(_others(installation, nowhere)))
        yield finding(
            "cuda-libraries-missing",
            severity,
            f"{installation.name} opens {', '.join(nowhere)}, not found here"
            + (f"; of another CUDA: {', '.join(others)}" if others else ""),
            effect,
            *installation.build("use an environment that has them"),
        )


def _need(installation: Installation) -> CudaNeed | None:
    """Return what the installed build needs; None for builds unlike the catalog's."""
    fits = installation.is_catalog_build and installation.installed.is_cuda_build
    return installation.row.cuda if installation.row and fits else None


def _need_of_searched(installation: Installation) -> CudaNeed | None:
    """Return the same; None for facts of earlier probes, which contain only the opened libraries."""
    return _need(installation) if installation.installed.software is not None else None


def _cost(installation: Installation, need: CudaNeed) -> tuple[Severity, str]:
    if need.linkage is Linkage.NEEDED:
        return Severity.PROBLEM, "import tensorflow fails: it is linked against them"
    if installation.has_gpus:
        return Severity.PROBLEM, "TensorFlow registers no GPU and computes on the processor"
    return Severity.NOTE, "without a GPU they are not needed"


def _others(installation: Installation, missing: list[str]) -> Iterator[str]:
    """Yield libraries of the same kind with another number."""
    stems = {name.partition(".so")[0] for name in missing}
    for each in installation.installed.libraries:
        if each.stem in stems:
            yield f"{each.name} in {_directory(each)}"


def cudnn_unfit(installation: Installation) -> Iterator[Finding]:
    """Report a cuDNN that TensorFlow refuses."""
    need = _need(installation)
    soname = next((name for name in need.sonames if name.startswith(f"{_CUDNN}.so")), "") if need else ""
    found = installation.installed.reached(soname)
    if need is None or found is None or found.version is None or need.cudnn.accepts(found.version):
        return
    rule = need.cudnn.rule.describe(need.cudnn.compiled)
    yield finding(
        "cudnn-unfit",
        Severity.PROBLEM if installation.has_gpus else Severity.WARNING,
        f"cuDNN {found.version} at {found.path}; {installation.name} was compiled with {need.cudnn.compiled}"
        f" and takes {rule}",
        "convolutions and recurrent layers fail: cuDNN cannot be initialized",
        *installation.build(f"use an environment with {rule}"),
    )


def libraries_mixed(installation: Installation) -> Iterator[Finding]:
    """Report CUDA libraries from more than one CUDA release."""
    need = _need_of_searched(installation)
    if need is None:
        return
    found = [installation.installed.reached(name) for name in need.sonames]
    homes: dict[str, list[str]] = {}
    for each in found:
        home = _home(each) if each and each.stem not in _APART else ""
        if each and home:
            homes.setdefault(home, []).append(each.name)
    if len(homes) > 1:
        listed = "; ".join(f"{', '.join(names)} from {home}" for home, names in homes.items())
        yield warning(
            "cuda-libraries-mixed",
            f"{installation.name} gets libraries of more than one CUDA: {listed}",
            "libraries of one CUDA release are tested together; others may fail to start",
            Remedy(text=f"check {_PATH}", command=f"echo ${_PATH}"),
        )


def _directory(library: InstalledLibrary) -> str:
    return str(PurePosixPath(library.path).parent)


def _home(library: InstalledLibrary) -> str:
    """Return the installation of a CUDA library; empty for a system directory, which may hold several."""
    if library.origin in {LibraryOrigin.WHEEL, LibraryOrigin.CONDA}:
        return {LibraryOrigin.WHEEL: "NVIDIA's wheels", LibraryOrigin.CONDA: "conda"}[library.origin]
    inside = _TOOLKIT.search(library.path)
    return library.path[: inside.end()] if inside else ""


def no_gpu_device(installation: Installation) -> Iterator[Finding]:
    """Report that an imported TensorFlow sees no GPU on a machine that has one."""
    devices = installation.installed.facts.devices
    if not isinstance(devices, Seen) or not installation.installed.is_cuda_build or not installation.has_gpus:
        return
    if "GPU" not in devices.value:
        yield problem(
            "gpu-not-used",
            f"{installation.name} is built with CUDA and sees no GPU",
            "all computation runs on the CPU",
            Remedy(
                text="show the reason",
                command=f"TF_CPP_MIN_LOG_LEVEL=0 {installation.installed.python}"
                " -c 'import tensorflow; tensorflow.test.is_gpu_available()'",
            ),
        )
