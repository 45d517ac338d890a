"""Installed versions in the output of `doctor`: a line for each part, and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from envbuilder.catalog.buildable import Buildability
from envbuilder.catalog.verdicts import Fit, why
from envbuilder.diagnostics.host.examination import (
    EnvironmentDifference,
    Examination,
    InstalledLibrary,
    InstalledTensorFlow,
    LibraryOrigin,
    Nearest,
    Versions,
)

_KERAS = ("keras", "tf-keras")
_RUNS = {
    Fit.FITS: "runs on the GPU here",
    Fit.JIT: "runs on the GPU here; the driver compiles kernels at the first start, for minutes",
    Fit.UNKNOWN: "may run here: something is not known",
    Fit.CPU_ONLY: "runs on the processor here",
    Fit.NO: "does not run here",
}
_ORIGINS = {
    LibraryOrigin.WHEEL: "NVIDIA's wheel",
    LibraryOrigin.CONDA: "conda",
    LibraryOrigin.ENVIRONMENT: "LD_LIBRARY_PATH",
    LibraryOrigin.TOOLKIT: "CUDA toolkit",
    LibraryOrigin.SYSTEM: "system",
}


def python_line(versions: Versions | None) -> Iterator[tuple[str, str]]:
    """Yield a line about an interpreter without TensorFlow."""
    if versions and versions.tensorflow is None:
        yield "python", f"{versions.python} at {versions.executable}, TensorFlow is not installed"


def installed_lines(examination: Examination, gpus: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield label and text of each line about installed versions."""
    versions = examination.versions
    if versions is None:
        return
    yield "python", f"{versions.python} at {versions.executable}"
    yield "tensorflow", ", ".join(_tensorflow(versions.tensorflow))
    packages = dict(versions.packages)
    if versions.tensorflow:
        yield "keras", ", ".join(_keras(versions, packages))
    yield (
        "packages",
        ", ".join(f"{name} {version or 'none'}" for name, version in packages.items() if name not in _KERAS),
    )
    yield from _libraries(versions.libraries)
    yield from gpus
    if versions.nearest:
        yield from _nearest(versions.nearest, examination)
    if versions.tensorflow is None:
        yield "next", "envbuilder advise, which finds an environment for this machine"


def _tensorflow(found: InstalledTensorFlow | None) -> Iterator[str]:
    if found is None:
        yield "not installed"
        return
    yield " and ".join(found.packages) or f"{found.version or 'release not known'}, without metadata"
    match found.cuda_build:
        case True:
            cuda = f" {found.cuda}" if found.cuda else ""
            cudnn = f" and cuDNN {found.cudnn}" if found.cudnn else ""
            yield f"built with CUDA{cuda}{cudnn}"
        case False:
            yield "built without CUDA"
        case None:
            yield "build not known"


def _keras(versions: Versions, packages: dict[str, str]) -> Iterator[str]:
    """Yield the Keras inside TensorFlow, and those beside it."""
    if versions.builtin_keras:
        yield f"tf.keras {versions.builtin_keras}"
    beside = [f"{name} {packages[name]}" for name in _KERAS if packages.get(name)]
    yield from beside or ["no stand-alone Keras"]


def _libraries(libraries: tuple[InstalledLibrary, ...]) -> Iterator[tuple[str, str]]:
    """Yield a line for each origin of libraries; one for CUDA and one for cuDNN without any."""
    places: dict[tuple[str, str, bool], list[str]] = {}
    for each in libraries:
        key = (_ORIGINS[each.origin], _folder(each), bool(each.via))
        places.setdefault(key, []).append(
            f"{each.name.removeprefix('lib')}{f' ({each.version})' if each.version else ''}"
        )
    for (origin, folder, found), names in places.items():
        aside = "" if found else "; not on the loader's path"
        yield "libraries", f"{', '.join(dict.fromkeys(names))}: {origin}, {folder}{aside}"
    if not places:
        yield "libraries", "no CUDA libraries found"


def _folder(library: InstalledLibrary) -> str:
    """Return the directory of a library; for NVIDIA's wheels the one that they share."""
    folder = str(PurePosixPath(library.path).parent)
    return f"{folder.partition('/nvidia/')[0]}/nvidia" if library.origin is LibraryOrigin.WHEEL else folder


def _nearest(nearest: Nearest, examination: Examination) -> Iterator[tuple[str, str]]:
    every = examination.environments
    found = next((each for each in every if each.compatibility.environment == nearest.environment), None)
    same = "the same TensorFlow" if nearest.is_same_release else "with another TensorFlow"
    yield "nearest", f"{nearest.environment}, {same}{'; it has' if nearest.differences else ''}"
    for each in nearest.differences:
        yield "nearest", f"  {_difference(each)}"
    if found:
        verdict, build = found.compatibility, found.buildable
        lacks = build.verdict is Buildability.NO
        reasons = f": {'; '.join(why(verdict))}" if verdict.fit is Fit.NO else ""
        yield "nearest", f"it {_RUNS[verdict.fit]}{reasons}"
        if lacks:
            yield "nearest", f"it cannot be built from here: {'; '.join(build.reasons)}; {build.hint}"
        if verdict.fit is not Fit.NO and not lacks:
            yield "nearest", nearest.command


def _difference(each: EnvironmentDifference) -> str:
    return f"{each.what} {each.there or 'none'} (here: {each.here or 'none'})"
