"""Which drivers run the CUDA libraries of an image, and compile for a GPU."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.model.coverage import GpuSupport
from envbuilder.model.cuda import FIRST_FAMILY, Coverage, CudaFacts
from envbuilder.model.versions import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverNeed:
    """What an image asks of the driver.

    Attributes:
        least: Oldest driver on which it runs.
        why: What sets that bound.
        own: The driver that came with its CUDA release: from there on nothing is left to compatibility rules.
        known: False where a GPU has to compile code of an unknown version, for which nobody knows the driver.
    """

    least: Release
    why: str
    own: Release
    known: bool = True


def need_of(facts: CudaFacts, cuda: Release, supports: tuple[GpuSupport, ...]) -> DriverNeed:
    """The oldest driver for CUDA libraries and the GPUs that are to run on them.

    The driver that came with a CUDA release always runs it; from CUDA 11 on so does the floor of the family, which may
    be older or (for 11.0, which came before the rule) newer.

    Args:
        facts: Driver tables.
        cuda: Release of the libraries.
        supports: What the GPUs get; empty when none was named.
    """
    own = facts.shipped_driver(cuda) or facts.driver_floor(cuda)
    bounds = [_library_bound(facts, cuda, own)]
    for support in supports:
        generation = support.architecture.generation or f"GPUs of {support.architecture.capability}"
        knowing = facts.knowing_driver(support.architecture.since)
        if knowing is not None and support.architecture.since.head(2) > (0, 0):
            bounds.append((knowing, f"the first that knows {generation}"))
        if support.ptx_driver is not None:
            bounds.append((support.ptx_driver, f"the first that compiles the PTX for {generation}"))
    least, why = max(bounds, key=lambda bound: bound[0])
    known = not any(support.coverage is Coverage.JIT and support.ptx_driver is None for support in supports)
    return DriverNeed(least=least, why=why, own=own, known=known)


def _library_bound(facts: CudaFacts, cuda: Release, own: Release) -> tuple[Release, str]:
    floor = facts.driver_floor(cuda)
    if floor == own:
        return floor, f"the one that came with CUDA {cuda}"
    if cuda.major < FIRST_FAMILY:
        return floor, f"the one that came with the newest update of CUDA {cuda}"
    return floor, f"the oldest for every CUDA {cuda.major}.x (minor-version compatibility)"


def is_older(driver: Release, least: Release) -> bool | None:
    """Whether a driver is older than another; None when it was named too shortly to tell.

    Example:
        >>> is_older(Release("450.51"), Release("450.80.02")), is_older(Release("450.51"), Release("450.51.06"))
        (True, None)
    """
    short = len(driver.parts) < len(least.parts) and driver.parts == least.parts[: len(driver.parts)]
    if short and driver < least:
        return None
    return driver < least
