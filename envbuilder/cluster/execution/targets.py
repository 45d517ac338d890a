"""Values of `--on`: where commands run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

_ADDRESS = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}")
_NUMBER = re.compile(r"[1-9][0-9]{0,5}")
_TEXT = re.compile(r"[^\s,=]+")
_SLURM_FIELDS = {
    "partition": _TEXT,
    "account": _TEXT,
    "qos": _TEXT,
    "constraint": _TEXT,
    "gres": _TEXT,
    "mem": re.compile(r"[1-9][0-9]*[KMGT]?"),
    "cpus": _NUMBER,
    "minutes": _NUMBER,
    "at-once": _NUMBER,
}
SYNTAX = "local[:N], slurm[:FIELD=VALUE,...] or dask://HOST:PORT"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalProcesses:
    """Processes of this machine.

    Attributes:
        at_once: Maximum number of commands at a time; 0 for the number of processors.
    """

    at_once: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SlurmJobs:
    """Jobs of the Slurm cluster that `sbatch` submits to.

    Attributes:
        fields: Values of the fields by name, sorted: `partition`, `account`, `qos`, `constraint`, `gres` and `mem` as
            for `sbatch`; `cpus` of each job; `minutes`, its time limit; `at-once`, the maximum number of running jobs.
    """

    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DaskCluster:
    """Workers of a Dask cluster.

    Attributes:
        address: Host and port of its scheduler.
    """

    address: str


ExecutionTarget: TypeAlias = LocalProcesses | SlurmJobs | DaskCluster


def parse_target(text: str) -> ExecutionTarget:
    """Read a value of `--on`.

    Raises:
        ValueError: It is none; the message says what is wrong.

    Example:
        >>> parse_target("local:4"), parse_target("dask://login1:8786")
        (LocalProcesses(at_once=4), DaskCluster(address='login1:8786'))
        >>> parse_target("slurm:partition=cpu,minutes=90").fields
        (('minutes', '90'), ('partition', 'cpu'))
    """
    kind, colon, rest = text.partition(":")
    if kind == "local" and (not colon or _NUMBER.fullmatch(rest)):
        return LocalProcesses(at_once=int(rest or 0))
    if kind == "slurm":
        return SlurmJobs(fields=_slurm_fields(rest) if colon else ())
    if kind == "dask" and rest.startswith("//") and _ADDRESS.fullmatch(rest[2:]):
        return DaskCluster(address=rest[2:])
    raise ValueError(f"{text!r} is not {SYNTAX}")


def _slurm_fields(text: str) -> tuple[tuple[str, str], ...]:
    found: dict[str, str] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name not in _SLURM_FIELDS:
            raise ValueError(f"unknown field of slurm: {name!r}; it has {', '.join(_SLURM_FIELDS)}")
        if name in found:
            raise ValueError(f"the field {name} of slurm is given twice")
        if not _SLURM_FIELDS[name].fullmatch(value):
            raise ValueError(f"invalid value of {name}: {value!r}")
        found[name] = value
    return tuple(sorted(found.items()))
