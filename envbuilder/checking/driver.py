"""Checks of the driver."""

from __future__ import annotations

from envbuilder.checking.check import not_seen
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
    release = facts.driver.value.release
    if release is None:
        return _by_cuda(cuda, interface.cuda)
    if release >= cuda.driver:
        return Passed(seen=f"driver {release}, CUDA {cuda.release} needs {cuda.driver}")
    return Failed(
        problem=f"the driver is {release}, CUDA {cuda.release} needs {cuda.driver} or newer",
        remedy=f"update the driver of the host to {cuda.driver} or newer, or take an environment with an older CUDA"
        " (`envbuilder list`)",
    )


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
        remedy=f"update the driver of the host to {cuda.driver} or newer, or take an environment with an older CUDA"
        " (`envbuilder list`)",
    )


def describe(driver: Driver) -> str:
    """The driver in a few words, for a report."""
    release = f"{driver.release}" if driver.release else "release unknown"
    interface = driver.interface
    if isinstance(interface, Unseen) or not interface.value.loadable:
        return "none"
    supported = f", CUDA {interface.value.cuda}" if interface.value.cuda else ""
    return f"{release}{supported}"
