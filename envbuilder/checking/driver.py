"""Checks of the driver."""

from __future__ import annotations

from envbuilder.checking.check import not_seen
from envbuilder.model.cuda import FIRST_FAMILY
from envbuilder.model.expectations import CudaExpectation, Expectation
from envbuilder.model.facts import Driver, DriverInterface, Facts, Seen, Unseen
from envbuilder.model.findings import Failed, NotProven, Outcome, Passed
from envbuilder.model.versions import Release

RUN_WITH_GPUS = (
    "run on a host with an NVIDIA driver and the NVIDIA Container Toolkit, with `docker run --gpus all`; there"
    " `nvidia-smi` must list the GPU"
)


def interface_of(facts: Facts) -> DriverInterface | NotProven:
    """What the driver's library says, or why nobody knows."""
    if isinstance(facts.driver, Unseen):
        return not_seen("the driver", facts.driver)
    interface = facts.driver.value.interface
    return interface.value if isinstance(interface, Seen) else not_seen("the driver's library", interface)


def driver_present(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature for all checks
    """There is a driver, and it has a GPU."""
    if isinstance(facts.driver, Seen) and isinstance(facts.driver.value.interface, Unseen):
        crash = facts.driver.value.interface
        return Failed(
            problem=f"asking the driver ended with {crash.summary}",
            remedy=f"see the host; {RUN_WITH_GPUS}",
        )
    driver = interface_of(facts)
    if isinstance(driver, NotProven):
        return driver
    if problem := _absence(driver):
        return Failed(problem=problem, remedy=_remedy(driver))
    names = ", ".join(gpu.name or gpu.error for gpu in driver.gpus)
    return Passed(
        seen=f"{len(driver.gpus)} GPU: {names}" if len(driver.gpus) == 1 else f"{len(driver.gpus)} GPUs: {names}"
    )


def _absence(driver: DriverInterface) -> str:
    """Why there is no usable GPU; empty when there is one."""
    if not driver.loadable:
        return f"there is no driver: {driver.error}"
    if driver.stub:
        return f"{driver.path} is the linker's stub, not a driver"
    if driver.init_code != 0:
        return f"the driver does not start: cuInit gives {driver.init_code} {driver.init_name}".rstrip()
    return "" if driver.gpus else "the driver sees no GPU"


def _remedy(driver: DriverInterface) -> str:
    if driver.stub:
        return "take the stubs folder out of LD_LIBRARY_PATH and /etc/ld.so.conf.d"
    if driver.init_name == "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH":
        return "kernel module and library of the driver differ: reboot the host after the driver update"
    if driver.init_name == "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE":
        return "this GPU has no forward compatibility: remove cuda-compat from the loader path, or update the driver"
    return RUN_WITH_GPUS


def driver_floor(cuda: CudaExpectation, facts: Facts) -> Outcome:
    """The driver is new enough for the CUDA libraries in the image."""
    interface = interface_of(facts)
    if isinstance(interface, NotProven):
        return interface
    if not interface.loadable or interface.stub or not isinstance(facts.driver, Seen):
        return NotProven(reason="there is no driver")
    driver = facts.driver.value
    if driver.release is None:
        return _by_cuda(cuda, interface.cuda)
    if driver.release >= cuda.driver:
        rule = _rule(cuda, interface.cuda)
        return Passed(seen=f"driver {driver.release}, CUDA {cuda.release} needs {cuda.driver} ({rule})")
    if driver.library and driver.module and driver.library > driver.module:
        return _forward(cuda, driver.module, driver.library, interface)
    return Failed(
        problem=f"the driver is {driver.release}, CUDA {cuda.release} needs {cuda.driver} or newer{_covered(cuda)}",
        remedy=f"{_newer(cuda)}; on a data-center GPU NVIDIA's package cuda-compat-{_dashed(cuda.release)} on the"
        " loader path can stand in for a newer driver, where it supports this branch",
    )


def _rule(cuda: CudaExpectation, supported: Release | None) -> str:
    """Which of NVIDIA's rules lets the driver run this CUDA.

    Source: docs.nvidia.com/deploy/cuda-compatibility, minor-version compatibility, read 2026-11-20.
    """
    if supported is not None and supported.head(2) >= cuda.release.head(2):
        return f"it supports CUDA {supported}, and every older one"
    if cuda.release.major >= FIRST_FAMILY:
        return f"minor-version compatibility: every CUDA {cuda.release.major}.x runs on it, but it may not compile PTX"
    return "the release that came with this CUDA, or a newer one"


def _forward(cuda: CudaExpectation, module: Release, library: Release, interface: DriverInterface) -> Outcome:
    """The user-space library is newer than the kernel module, as NVIDIA's forward-compatibility package makes it."""
    stands = f"libcuda {library} stands before the older kernel module {module}"
    if interface.init_code == 0 and interface.gpus and library >= cuda.driver:
        return Passed(seen=f"forward compatibility: {stands}, and starts; CUDA {cuda.release} needs {cuda.driver}")
    why = f"needs {cuda.driver}" if library < cuda.driver else f"it gives {interface.init_code} {interface.init_name}"
    return Failed(
        problem=f"{stands} (forward compatibility, cuda-compat), and does not run CUDA {cuda.release}: {why.rstrip()}",
        remedy=f"{_newer(cuda)}; forward compatibility is for data-center GPUs and for the branches that the package"
        " supports only",
    )


def _covered(cuda: CudaExpectation) -> str:
    """What the floor already takes into account."""
    if cuda.release.major < FIRST_FAMILY:
        return ""
    return f", the oldest of all CUDA {cuda.release.major}.x (minor-version compatibility)"


def _newer(cuda: CudaExpectation) -> str:
    return (
        f"update the driver of the host to {cuda.driver} or newer, or take an environment with an older CUDA"
        " (`envbuilder list`)"
    )


def _dashed(release: Release) -> str:
    return "-".join(str(part) for part in release.head(2))


def _by_cuda(cuda: CudaExpectation, supported: Release | None) -> Outcome:
    if supported is None:
        return NotProven(reason="neither the driver's release nor the CUDA that it supports is known")
    if supported.head(2) >= cuda.release.head(2):
        return Passed(seen=f"the driver supports CUDA {supported}, the image has {cuda.release}")
    if supported.major == cuda.release.major:
        return NotProven(
            reason=f"the driver's release is not known; it supports CUDA {supported}, the image has {cuda.release}"
        )
    return Failed(
        problem=f"the driver supports CUDA up to {supported}, the image has {cuda.release}",
        remedy=_newer(cuda),
    )


def describe(driver: Driver) -> str:
    """The driver in a few words, for a report."""
    release = f"{driver.release}" if driver.release else "release unknown"
    interface = driver.interface
    if isinstance(interface, Unseen) or not interface.value.loadable:
        return "none"
    supported = f", CUDA {interface.value.cuda}" if interface.value.cuda else ""
    return f"{release}{supported}"
