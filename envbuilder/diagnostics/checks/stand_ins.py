"""Libraries of a proof that take the place of NVIDIA's: what a check says about them."""

from __future__ import annotations

from envbuilder.diagnostics.checks.results import NotProven
from envbuilder.diagnostics.facts.facts import Facts, LibraryLoad, Seen, known

DRIVER = "libcuda.so.1"

CHECKS = frozenset(
    {"cuda-libraries-load", "cuda-runtime-version", "cudnn-version", "cudnn-starts", "no-cuda-stub"}
)  # fmt: skip
"""Checks that stand-ins leave unproven."""


def stand_ins(facts: Facts) -> tuple[str, ...]:
    """Return the sonames of loaded libraries that are stand-ins, sorted; that of the driver is one of them."""
    libraries = known(facts.libraries) or ()
    found = [each.soname for each in libraries if isinstance(each.load, Seen) and is_stand_in(each.load.value)]
    return tuple(sorted([*found, *([DRIVER] if driver_is_stand_in(facts) else [])]))


def is_stand_in(load: LibraryLoad) -> bool:
    """Return True if a library was opened and is a stand-in."""
    return load.loaded and load.stand_in


def driver_is_stand_in(facts: Facts) -> bool:
    """Return True if the loaded driver library is a stand-in."""
    return facts.interface is not None and facts.interface.stand_in


def replaced(*sonames: str) -> NotProven:
    """Return the outcome of a check of libraries that are stand-ins."""
    verb = "are stand-ins" if len(sonames) > 1 else "is a stand-in"
    return NotProven(reason=f"{', '.join(sonames)} {verb} of envbuilder, not NVIDIA's; for proofs only")
