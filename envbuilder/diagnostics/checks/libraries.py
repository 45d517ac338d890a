"""Checks of the CUDA libraries in the image."""

from __future__ import annotations

import re

from envbuilder.catalog.expectation import CudaExpectation, Expectation
from envbuilder.core.versions import Release, release_of
from envbuilder.diagnostics.checks.check import not_seen, was_tried
from envbuilder.diagnostics.checks.results import NotProven, Outcome, Passed, failure
from envbuilder.diagnostics.checks.stand_ins import DRIVER, driver_is_stand_in, is_stand_in, replaced, stand_ins
from envbuilder.diagnostics.facts.facts import (
    DriverInterface,
    Facts,
    LibcudaPath,
    Library,
    LibraryLoad,
    Seen,
    Unseen,
)

_ABSENT = "cannot open shared object file: No such file or directory"


def cuda_libraries_load(cuda: CudaExpectation, facts: Facts) -> Outcome:
    """Check that every library that TensorFlow opens can be opened."""
    if isinstance(facts.libraries, Unseen):
        return not_seen("the CUDA libraries", facts.libraries)
    seen = {library.soname: library for library in facts.libraries.value}
    not_asked = [soname for soname in cuda.sonames if soname not in seen]
    if not_asked:
        return NotProven(reason=f"not requested from the probe: {', '.join(not_asked)}")
    problems = _problems([seen[soname] for soname in cuda.sonames])
    if problems:
        return failure(
            problem="; ".join(problems),
            remedy=f"the image needs the libraries of CUDA {cuda.release} and cuDNN {cuda.cudnn_release} on its loader"
            " path: rebuild from the lock, and leave LD_LIBRARY_PATH of the image as it is (`docker run -e` replaces"
            " it)",
        )
    if found := [soname for soname in stand_ins(facts) if soname in seen]:
        return replaced(*found)
    without = [soname for soname in cuda.need.optional if soname not in seen or _problem(seen[soname])]
    beside = f"; optional and missing: {', '.join(without)}" if without else ""
    return Passed(seen=f"all {len(cuda.sonames)} can be opened{beside}")


def _problems(libraries: list[Library]) -> list[str]:
    """Return one problem for all missing libraries, and one for each other library that fails to open."""
    problems = {library.soname: problem for library in libraries if (problem := _problem(library))}
    absent = [soname for soname, problem in problems.items() if problem == f"{soname}: {_ABSENT}"]
    listing = [f"not on the loader path: {', '.join(absent)}"] if absent else []
    return listing + [problem for soname, problem in problems.items() if soname not in absent]


def _problem(library: Library) -> str:
    match library.load:
        case Unseen() as fact:
            return f"{library.soname}: opening it failed with {fact.summary}"
        case Seen(value=LibraryLoad(loaded=False, error=error)):
            return error if library.soname in error else f"{library.soname}: {error}"
        case Seen():
            return ""


def _loaded(facts: Facts, stem: str) -> tuple[str, LibraryLoad] | NotProven:
    """Return the loaded library whose name begins with the stem and `.so`, or the reason why there is none."""
    if isinstance(facts.libraries, Unseen):
        return not_seen("the CUDA libraries", facts.libraries)
    for library in facts.libraries.value:
        if library.soname.startswith(f"{stem}.so"):
            if isinstance(library.load, Seen) and is_stand_in(library.load.value):
                return replaced(library.soname)
            if isinstance(library.load, Seen) and library.load.value.loaded:
                return library.soname, library.load.value
            return NotProven(reason=f"{library.soname} cannot be opened")
    return NotProven(reason=f"not requested from the probe: {stem}")


def cuda_runtime_version(cuda: CudaExpectation, facts: Facts) -> Outcome:
    """Check that the loaded CUDA runtime is that of the lock."""
    found = _loaded(facts, "libcudart")
    if isinstance(found, NotProven):
        return found
    soname, load = found
    version, teller = _runtime_version(load, facts)
    if version is None:
        return NotProven(reason=f"{soname} does not report its version; before CUDA 12 it does so only with a driver")
    if version.head(2) == cuda.release.head(2):
        return Passed(seen=f"CUDA runtime {version}, {teller}")
    return failure(
        problem=f"the CUDA runtime at {load.path} is {version}, {teller}; the lock has {cuda.release}",
        remedy="another CUDA comes first on the loader path: see LD_LIBRARY_PATH and /etc/ld.so.conf.d in the image, or"
        " rebuild from the lock",
    )


def _runtime_version(load: LibraryLoad, facts: Facts) -> tuple[Release | None, str]:
    """Return the version of the loaded runtime, and its source.

    Without a driver the runtime of CUDA 11 returns an error instead of its version (seen with 11.2 and 11.8). The
    version then comes from its real file name (`libcudart.so.11.2.152`), or the distribution that the file belongs to.
    """
    if load.version is not None:
        return load.version, f"by its own answer ({load.path})"
    path = load.path or ""
    named = re.search(r"/libcudart\.so\.(\d+\.\d+\.\d+)$", path)
    if named and (release := release_of(named[1])) is not None:
        return release, f"by its file name ({path})"
    if "/site-packages/nvidia/cuda_runtime/" in path and isinstance(facts.distributions, Seen):
        for name, version in facts.distributions.value:
            if not re.fullmatch(r"nvidia-cuda-runtime(-cu\d+)?", name) or "." not in version:
                continue
            if (release := release_of(version)) is not None:
                return release, f"by its distribution {name}"
    return None, ""


def cudnn_version(cuda: CudaExpectation, facts: Facts) -> Outcome:
    """Check that TensorFlow accepts the loaded cuDNN."""
    found = _loaded(facts, "libcudnn")
    if isinstance(found, NotProven):
        return found
    soname, load = found
    if load.version is None:
        return NotProven(reason=f"{soname} does not report its version")
    rule = cuda.need.cudnn.rule.describe(cuda.need.cudnn.compiled)
    if cuda.need.cudnn.accepts(load.version):
        return Passed(seen=f"cuDNN {load.version}; TensorFlow takes {rule}")
    return failure(
        problem=f"cuDNN at {load.path} is {load.version}; TensorFlow was compiled with {cuda.need.cudnn.compiled}"
        f" and takes {rule}",
        remedy=f"put {rule} into the image (the lock has {cuda.cudnn_release}); rebuild from the lock"
        " without packages that contain a cuDNN",
    )


def cudnn_starts(cuda: CudaExpectation, facts: Facts) -> Outcome:
    """Check that cuDNN starts: the libraries that it opens by itself are present too."""
    if found := [soname for soname in stand_ins(facts) if soname.startswith("libcudnn.so")]:
        return replaced(*found)
    fact = facts.cudnn
    if isinstance(fact, Unseen):
        if not was_tried(fact):
            return not_seen("the start of cuDNN", fact)
        detail = next((line for line in fact.trace if "cannot open shared object" in line or "Could not" in line), "")
        return failure(
            problem=f"cuDNN terminates the process at startup ({fact.headline}){': ' if detail else ''}{detail}",
            remedy="a library that cuDNN opens by itself is not on the loader path: rebuild from a new lock"
            " (`envbuilder lock`), whose library set has it",
        )
    if fact.value.status:
        return failure(
            problem=f"{fact.value.soname} cannot create a descriptor: status {fact.value.status}",
            remedy="rebuild from the lock: parts of cuDNN of different versions are mixed",
        )
    return Passed(seen=f"{fact.value.soname} creates a descriptor, cuDNN {cuda.cudnn_release}")


def no_cuda_stub(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature for all checks
    """Check that no stub of the driver is on the run-time path, where it would hide the real driver."""
    if isinstance(facts.libcuda, Unseen):
        return not_seen("the loader path", facts.libcuda)
    stubs = [f"{found.path} ({found.source})" for found in facts.libcuda.value if _is_stub(found)]
    if facts.interface and _is_stub(facts.interface):
        stubs.append(f"{facts.interface.path} (loaded)")
    if stubs:
        return failure(
            problem=f"a stub of libcuda.so.1 is on the run-time path: {', '.join(stubs)}",
            remedy="remove the stubs directory from LD_LIBRARY_PATH and /etc/ld.so.conf.d; stubs are for linking only"
            " and hide the driver that the container runtime mounts",
        )
    return replaced(DRIVER) if driver_is_stand_in(facts) else Passed(seen="none on the run-time path")


def _is_stub(library: LibcudaPath | DriverInterface) -> bool:
    return library.stub and not library.stand_in
