"""Conditions for an environment as users write them, and the query that they mean."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from envbuilder.catalog.advise.advice import Query, RequestedRange, requested_range, requested_release
from envbuilder.catalog.buildable import Inventory
from envbuilder.catalog.environments import Catalog
from envbuilder.catalog.machine import Host
from envbuilder.core.errors import UsageError
from envbuilder.core.versions import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The conditions for an environment, as typed.

    Attributes:
        tensorflow: Releases; `keras`, `cuda` and `cudnn` likewise.
        driver: Driver of the machine.
        gpus: GPUs that must all run, by name or compute capability.
        glibc: C library of a system where the wheel is to run without a container.
        cpu: Only environments without a GPU.
        hosts: Files with facts of machines.
        base: Base of the image; empty for any.
    """

    tensorflow: str | None = None
    python: str | None = None
    driver: str | None = None
    gpus: tuple[str, ...] = ()
    keras: str | None = None
    cuda: str | None = None
    cudnn: str | None = None
    glibc: str | None = None
    cpu: bool = False
    hosts: tuple[Path, ...] = ()
    base: str = ""


def query_of(catalog: Catalog, conditions: Conditions, hosts: tuple[Host, ...], available: Inventory | None) -> Query:
    """Return the query that conditions mean.

    Raises:
        UsageError: A text is not a version or a range, or there is no such base.
    """
    return Query(
        tensorflow=_range(conditions.tensorflow, "TensorFlow"),
        python=_python(conditions.python),
        keras=_range(conditions.keras, "Keras"),
        cuda=_range(conditions.cuda, "CUDA"),
        cudnn=_range(conditions.cudnn, "cuDNN"),
        glibc=requested_release(conditions.glibc, "glibc") if conditions.glibc else None,
        base=_base(catalog, conditions.base),
        cpu=conditions.cpu,
        inventory=available,
        hosts=hosts,
    )


def _range(text: str | None, what: str) -> RequestedRange | None:
    return requested_range(text, what) if text else None


def _python(text: str | None) -> Release | None:
    if not text:
        return None
    return Release(requested_release(text, "Python").series)


def _base(catalog: Catalog, name: str) -> str:
    known = {base.id for base in catalog.bases}
    if name and name not in known:
        raise UsageError(f"unknown base: {name!r}", hint=f"available: {', '.join(sorted(known))}")
    return name
