"""Driver requirements of the CUDA libraries of an image on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from envbuilder.catalog.coverage import GpuSupport
from envbuilder.catalog.cuda import FIRST_FAMILY, Coverage, CudaFacts
from envbuilder.catalog.driver_floors import driver_floor, knowing_driver, shipped_driver
from envbuilder.catalog.machine import Host
from envbuilder.core.versions import Release


class DriverRule(StrEnum):
    """Origin of a lower bound for the driver."""

    LIBRARIES = "libraries"
    KNOWS_GPU = "knows-gpu"
    COMPILES_PTX = "compiles-ptx"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverBound:
    """One lower bound for the driver.

    Attributes:
        least: Oldest driver that satisfies it.
    """

    least: Release
    rule: DriverRule
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverNeed:
    """The driver that an image needs on a GPU.

    Attributes:
        bounds: All lower bounds; the CUDA libraries' first.
        own: The driver that shipped with the CUDA release; it and newer ones need no compatibility rule.
        known: False if the driver must compile PTX of an unknown version, so that the required driver is unknown.
    """

    bounds: tuple[DriverBound, ...]
    own: Release
    known: bool = True

    @property
    def highest(self) -> DriverBound:
        """Bound that decides."""
        return max(self.bounds, key=lambda bound: bound.least)

    @property
    def least(self) -> Release:
        """Oldest driver that satisfies all bounds."""
        return self.highest.least

    @property
    def why(self) -> str:
        """Reason for that bound."""
        return self.highest.why

    def least_for(self, *rules: DriverRule) -> Release | None:
        """Return the oldest driver that satisfies the bounds of some rules; None if there are no such bounds."""
        return max((bound.least for bound in self.bounds if bound.rule in rules), default=None)


def need_of(facts: CudaFacts, cuda: Release, supports: tuple[GpuSupport, ...]) -> DriverNeed:
    """Return the driver that CUDA libraries need on some GPUs; by themselves, if the support for none is known.

    The driver that shipped with a CUDA release always runs it. From CUDA 11 on, the floor of the family does too; it
    is older for all releases but 11.0, which preceded the rule.

    Raises:
        KeyError: No driver is known for the CUDA release; a loaded catalog has no such release.
    """
    own = shipped_driver(facts, cuda) or driver_floor(facts, cuda)
    bounds = [_libraries(facts, cuda, own), *(bound for support in supports for bound in _of_gpu(facts, support))]
    known = not any(support.coverage is Coverage.JIT and support.ptx_driver is None for support in supports)
    return DriverNeed(bounds=tuple(dict.fromkeys(bounds)), own=own, known=known)


def _of_gpu(facts: CudaFacts, support: GpuSupport) -> Iterator[DriverBound]:
    name = support.architecture.generation or f"GPUs of {support.architecture.capability}"
    knowing = knowing_driver(facts, support.architecture.since)
    if knowing is not None and support.architecture.since.head(2) > (0, 0):
        yield DriverBound(least=knowing, rule=DriverRule.KNOWS_GPU, why=f"the first that knows {name}")
    if support.ptx_driver is not None:
        why = f"the first that compiles the PTX for {name}"
        yield DriverBound(least=support.ptx_driver, rule=DriverRule.COMPILES_PTX, why=why)


def _libraries(facts: CudaFacts, cuda: Release, own: Release) -> DriverBound:
    floor = driver_floor(facts, cuda)
    if floor == own:
        why = f"the one that came with CUDA {cuda}"
    elif cuda.major < FIRST_FAMILY:
        why = f"the one that came with the newest update of CUDA {cuda}"
    else:
        why = f"the oldest for every CUDA {cuda.major}.x (minor-version compatibility)"
    return DriverBound(least=floor, rule=DriverRule.LIBRARIES, why=why)


def is_older(driver: Release, least: Release) -> bool | None:
    """Return True if a driver is older than another; None if its release is too short to decide.

    Example:
        >>> is_older(Release("450.51"), Release("450.80.02")), is_older(Release("450.51"), Release("450.51.06"))
        (True, None)
    """
    short = len(driver.parts) < len(least.parts) and driver.parts == least.parts[: len(driver.parts)]
    if short and driver < least:
        return None
    return driver < least


def driver_of(host: Host) -> Release | None:
    """Return the driver of programs in an image: the release of libcuda if it is known, else of the kernel module.

    They differ if NVIDIA's package for forward compatibility is in use with an older kernel module.
    """
    if host.library is not None and host.driver is not None and host.library > host.driver:
        return host.library
    return host.driver


def is_too_old(facts: CudaFacts, host: Host, least: Release) -> bool | None:
    """Return True if the driver of a machine is older than a bound; None if too little is known of it.

    A driver of unknown release is estimated by the newest CUDA release that it supports: it is at least the first
    driver of that release, and older than the first driver of the next one.
    """
    driver = driver_of(host)
    if driver is not None:
        return is_older(driver, least)
    if host.cuda is None:
        return None
    oldest, newer = _span(facts, host.cuda)
    if oldest is not None and oldest >= least:
        return False
    return True if newer is not None and newer <= least else None


def _span(facts: CudaFacts, cuda: Release) -> tuple[Release | None, Release | None]:
    """Return the first driver that supports a CUDA release, and the first that supports a newer one.

    Drivers of branch 565 support CUDA 12.7, which has no toolkit: they are at least as new as those of CUDA 12.6.
    """
    older = [each for each in facts.releases if each.version.head(2) <= cuda.head(2)]
    first = next((each.driver for each in older if each.version.head(2) == older[-1].version.head(2)), None)
    newer = next((each.driver for each in facts.releases if each.version.head(2) > cuda.head(2)), None)
    return first, newer
