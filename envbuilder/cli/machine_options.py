"""Machines that options of several commands describe."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from envbuilder.catalog.advise.advice import requested_release
from envbuilder.catalog.advise.recommend import described
from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.machine import Host, gpu_asked
from envbuilder.core.files import read_text
from envbuilder.diagnostics.facts.machine import host_of
from envbuilder.diagnostics.probe.decoding import decode

driver_option = click.option(
    "--driver", metavar="X.Y[.Z]", help="Driver version of the machine, as shown by `nvidia-smi`."
)
gpu_option = click.option(
    "--gpu",
    "gpus",
    multiple=True,
    metavar="NAME[,NAME]",
    help="GPUs to support: K80, V100, 'RTX 3090', or a compute capability such as 8.6. Repeatable.",
)
host_option = click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Facts of a machine (`doctor -o`, `probe.py --hardware`). Repeatable: all must fit.",
)


def machines(catalog: Catalog, driver: str | None, gpus: Iterable[str], facts: Iterable[Path]) -> tuple[Host, ...]:
    """Return the machines of `--driver`, `--gpu` and `--host`.

    Args:
        catalog: Knows the GPUs.
        driver: Version of the driver; None if it was not given.
        gpus: Names or compute capabilities, several in one text with commas between them.
        facts: Files with facts of machines.

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
