"""Notation for the support of a GPU in a table: marks, their legend, and the drivers that do not fit into a mark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from envbuilder.catalog.coverage import GpuSupport
from envbuilder.catalog.cuda import Coverage
from envbuilder.core.versions import Release

LEGEND = (
    ("code", "machine code for all kernels, which run without compilation"),
    ("jit", "the driver compiles some kernels on first use, which takes minutes once"),
    ("-", "not supported: TensorFlow, CUDA or cuDNN has no code for this GPU"),
    (
        "?",
        "(after a mark) not proven: the libraries are older than this GPU, or it is not known which GPUs they support",
    ),
)
BASIS = (
    "Derived from the GPU code in the files, with the preferred base of each environment, not from runs on these GPUs."
)
_MARKS = {Coverage.MACHINE_CODE: "code", Coverage.JIT: "jit", Coverage.NONE: "-"}


def mark(support: GpuSupport) -> str:
    """Return the support of a GPU, in at most five characters."""
    return f"{_MARKS[support.coverage]}{'?' if support.doubts else ''}"


def driver(support: GpuSupport) -> str:
    """Return the driver that a GPU needs, in words; empty if no driver helps."""
    if support.coverage is Coverage.NONE:
        return ""
    return f"driver {support.driver} or later" if support.driver else "driver not known"


def generations(supports: Iterable[GpuSupport]) -> Iterator[tuple[str, int]]:
    """Yield the generations of the columns of a table, and the number of columns of each.

    Returns:
        `(name, count)` from left to right; `Blackwell (RTX)` and `Blackwell (data centre)` are one.
    """
    names = (support.architecture.generation.partition(" (")[0] for support in supports)
    for name, columns in groupby(names):
        yield name, len(list(columns))


def ptx_drivers(supports: Iterable[GpuSupport], floor: Release) -> str:
    """Return the drivers that compiled code needs in addition to those for the libraries.

    Args:
        supports: Support of the GPUs by a row on a base.
        floor: Oldest driver for its CUDA libraries.

    Returns:
        Such as `9.0: 555.42.02; 10.0, 12.0: not known`; empty when the floor is enough everywhere.
    """
    wanted: dict[Release | None, list[str]] = {}
    for support in supports:
        if support.coverage is Coverage.JIT and (support.ptx_driver is None or support.ptx_driver > floor):
            wanted.setdefault(support.ptx_driver, []).append(str(support.architecture.capability))
    return "; ".join(f"{', '.join(columns)}: {least or 'not known'}" for least, columns in wanted.items())
