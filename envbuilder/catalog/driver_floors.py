"""Oldest drivers that run CUDA releases and know GPUs, by NVIDIA's tables."""

from __future__ import annotations

from envbuilder.catalog.cuda import CudaFacts
from envbuilder.core.versions import Release


def driver_floor(facts: CudaFacts, cuda: Release) -> Release:
    """Return the oldest driver on which programs of this CUDA release start.

    The driver that shipped with a release runs it; from CUDA 11 on so does the floor of its family (minor-version
    compatibility), which is older for all but the first releases. Before CUDA 11 it is the driver of the newest update
    of the release.

    Raises:
        KeyError: The table has no such release.
    """
    floors = [family.driver for family in facts.families if family.major == cuda.major]
    own = shipped_driver(facts, cuda if floors else Release(cuda.series))
    known = [*floors, *([own] if own else [])]
    if not known:
        raise KeyError(f"no driver is known for CUDA {cuda}")
    return min(known)


def shipped_driver(facts: CudaFacts, cuda: Release) -> Release | None:
    """Return the driver that shipped with a CUDA release or its newest update; None if it is unknown."""
    updates = facts.by_series.get(cuda.head(2), ())
    exact = [known.driver for known in updates if known.version == cuda and len(cuda.parts) > 2]
    return exact[0] if exact else max((known.driver for known in updates), default=None)


def knowing_driver(facts: CudaFacts, cuda: Release) -> Release | None:
    """Return the oldest driver that supports a CUDA release's GPUs and PTX; None if the table ends before."""
    series = cuda.head(2)
    return next((updates[0].driver for known, updates in facts.by_series.items() if known >= series), None)
