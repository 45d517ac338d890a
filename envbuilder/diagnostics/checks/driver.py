"""Checks of the driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from envbuilder.catalog.compatibility import judge_stack
from envbuilder.catalog.expectation import CudaExpectation, Expectation
from envbuilder.catalog.machine import HostGpu
from envbuilder.catalog.verdicts import Aspect, Fit, Reason
from envbuilder.diagnostics.checks.check import not_seen
from envbuilder.diagnostics.checks.results import NotProven, Outcome, Passed, failure
from envbuilder.diagnostics.facts.facts import Driver, DriverInterface, Facts, Seen, Unseen
from envbuilder.diagnostics.facts.machine import host_of

RUN_WITH_GPUS = (
    "run on a host with an NVIDIA driver and the NVIDIA Container Toolkit, with `docker run --gpus all`; there"
    " `nvidia-smi` must list the GPU"
)


def interface_of(facts: Facts) -> DriverInterface | NotProven:
    """Return the driver library's facts, or the outcome if they are unknown."""
    if isinstance(facts.driver, Unseen):
        return not_seen("the driver", facts.driver)
    interface = facts.driver.value.interface
    return interface.value if isinstance(interface, Seen) else not_seen("the driver's library", interface)


def driver_present(expectation: Expectation, facts: Facts) -> Outcome:  # noqa: ARG001 - one signature for all checks
    """Check that there is a driver with a GPU."""
    if isinstance(facts.driver, Seen) and isinstance(facts.driver.value.interface, Unseen):
        crash = facts.driver.value.interface
        return failure(
            problem=f"querying the driver failed with {crash.summary}",
            remedy=f"see the host; {RUN_WITH_GPUS}",
        )
    driver = interface_of(facts)
    if isinstance(driver, NotProven):
        return driver
    if problem := _absence(driver):
        return failure(problem=problem, remedy=_remedy(driver))
    names = ", ".join(gpu.name or gpu.error for gpu in driver.gpus)
    return Passed(
        seen=f"{len(driver.gpus)} GPU: {names}" if len(driver.gpus) == 1 else f"{len(driver.gpus)} GPUs: {names}"
    )


def _absence(driver: DriverInterface) -> str:
    """Return the reason why there is no usable GPU; empty if there is one."""
    if not driver.loadable:
        return f"there is no driver: {driver.error}"
    if driver.stand_in:
        return f"{driver.path} is a stand-in of envbuilder, not a driver"
    if driver.stub:
        return f"{driver.path} is the linker's stub, not a driver"
    if driver.init_code != 0:
        return f"the driver does not start: cuInit gives {driver.init_code} {driver.init_name}".rstrip()
    return "" if driver.gpus else "the driver sees no GPU"


def _remedy(driver: DriverInterface) -> str:
    if driver.stub:
        return "remove the stubs directory from LD_LIBRARY_PATH and /etc/ld.so.conf.d"
    if driver.init_name == "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH":
        return "kernel module and library of the driver differ: reboot the host after the driver update"
    if driver.init_name == "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE":
        return "this GPU has no forward compatibility: remove cuda-compat from the loader path, or update the driver"
    return RUN_WITH_GPUS


def driver_floor(cuda: CudaExpectation, facts: Facts) -> Outcome:
    """Check that the driver supports the CUDA libraries of the image on every GPU."""
    interface = interface_of(facts)
    if isinstance(interface, NotProven):
        return interface
    if not interface.loadable or interface.stub or not isinstance(facts.driver, Seen):
        return NotProven(reason="there is no driver")
    driver = facts.driver.value
    if interface.init_code != 0 and driver.library and driver.module and driver.library > driver.module:
        return failure(
            problem=f"libcuda {driver.library} is used with the older kernel module {driver.module} (forward"
            f" compatibility, cuda-compat), and fails to start: {interface.init_code} {interface.init_name}",
            remedy=_remedy(interface),
        )
    reasons = [reason for reason in compatibility(cuda, facts) if reason.aspect is Aspect.DRIVER]
    return outcome(reasons or [each for each in compatibility(cuda, facts, gpus=False) if each.aspect is Aspect.DRIVER])


def compatibility(cuda: CudaExpectation, facts: Facts, *, gpus: bool = True) -> tuple[Reason, ...]:
    """Return all reasons of the compatibility of an image with the probed machine, for every GPU.

    Args:
        cuda: The image. A library for forward compatibility in it is not considered: the probe runs inside,
            and sees which library is in use.
        facts: Facts of the machine.
        gpus: Whether to judge the GPUs; otherwise only the driver is judged, for the libraries alone.
    """
    host = replace(host_of(facts), name="")
    interface = interface_of(facts)
    if not gpus:
        host = replace(host, gpus=None)
    elif isinstance(interface, DriverInterface) and interface.gpus:
        # The GPUs visible to this process can be fewer than those that NVML shows.
        seen = (HostGpu(name=gpu.name, capability=gpu.capability, memory=gpu.memory) for gpu in interface.gpus)
        host = replace(host, gpus=tuple(seen))
    verdict = judge_stack(cuda.tables, replace(cuda.stack, has_compat_library=False), host)
    of_gpus = [reason for kind in verdict.gpus for reason in kind.reasons]
    return tuple(dict.fromkeys(of_gpus or verdict.reasons))


def outcome(reasons: Sequence[Reason]) -> Outcome:
    """Return the worst of some reasons as the outcome of a check."""
    failed = [reason for reason in reasons if reason.fit is Fit.NO]
    if failed:
        changes = dict.fromkeys(reason.change for reason in failed if reason.change)
        return failure(
            problem="; ".join(dict.fromkeys(reason.text for reason in failed)),
            remedy=f"{'; '.join(changes)}; or another environment: `envbuilder list --fits` shows which run here",
        )
    unknown = [reason.text for reason in reasons if reason.fit is Fit.UNKNOWN]
    if unknown or not reasons:
        return NotProven(reason="; ".join(dict.fromkeys(unknown)) or "nothing is known about the driver")
    return Passed(seen="; ".join(dict.fromkeys(reason.text for reason in reasons)))


def describe(driver: Driver) -> str:
    """Return a short description of the driver, for a report."""
    release = f"{driver.release}" if driver.release else "release unknown"
    interface = driver.interface
    if isinstance(interface, Unseen) or not interface.value.loadable:
        return "none"
    supported = f", CUDA {interface.value.cuda}" if interface.value.cuda else ""
    return f"{release}{supported}"
