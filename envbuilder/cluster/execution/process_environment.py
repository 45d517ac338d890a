"""Environment variables of a process that Slurm or Dask started, or that starts jobs of Slurm.

A worker has no settings of the command line: like `wiring/settings.py`, this module reads the environment of its
process.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager


def environment_with(**more: str) -> dict[str, str]:
    """Return the environment of this process with more variables."""
    return {**os.environ, **more}


def node_name() -> str:
    """Return the name of this node: that of Slurm in a job, else that of the host."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()


@contextmanager
def outside_a_job() -> Iterator[None]:
    """Hide the variables of a job that this process runs in: `sbatch` would take options from them."""
    inside = {name: value for name, value in os.environ.items() if name.startswith(("SLURM_", "SBATCH_"))}
    kept = {name: value for name, value in inside.items() if name in {"SLURM_CONF", "SLURM_CLUSTERS"}}
    for name in inside.keys() - kept.keys():
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(inside)
