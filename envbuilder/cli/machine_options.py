"""Options of several commands that describe machines."""

from __future__ import annotations

from pathlib import Path

import click

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
