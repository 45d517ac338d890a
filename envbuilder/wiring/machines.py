"""Machines that a user describes by driver, GPUs and files with facts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from envbuilder.catalog.advise.advice import requested_release
from envbuilder.catalog.advise.recommend import described
from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.machine import Host, gpu_asked
from envbuilder.core.files import read_text
from envbuilder.diagnostics.facts.machine import host_of
from envbuilder.diagnostics.probe.decoding import decode


def machines(catalog: Catalog, driver: str | None, gpus: Iterable[str], facts: Iterable[Path]) -> tuple[Host, ...]:
    """Return the machines.

    GPUs are named by product or compute capability, several in one text with commas between them. The files have facts
    of machines.

    Raises:
        UsageError: No GPU has a name, or the driver is not a version.
        InvalidInput: A file does not hold facts.
    """
    names = [name.strip() for each in gpus for name in each.split(",") if name.strip()]
    written = described(
        requested_release(driver, "the driver") if driver else None,
        tuple(gpu_asked(catalog.cuda, name) for name in names),
    )
    return (*written, *(host_of(decode(read_text(file), str(file)), file.name) for file in facts))
