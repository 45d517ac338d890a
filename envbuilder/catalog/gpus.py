"""GPU models, their architectures, and NVIDIA's containers for those that no environment supports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from envbuilder.catalog.sources import SourceList
from envbuilder.core.field_types import Pattern
from envbuilder.core.versions import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuModel:
    """GPUs that share a compute capability.

    Attributes:
        generation: Architecture, such as `Ampere`.
        since: First CUDA release whose own libraries have code for it.
        last: Last CUDA release that supports it, as `12.9`; None while newer releases do.
        last_driver: Last driver branch that supports it, as `470`; None while newer branches do.
        names: Regular expressions for the names of these GPUs, in lower case, without the words NVIDIA, GeForce, Tesla
            and Quadro.
        data_center: Those of `names` that are data-centre GPUs, to which forward compatibility applies.
    """

    name: str
    generation: str
    capability: Release
    since: Release
    last: Release | None = None
    last_driver: Release | None = None
    names: tuple[Pattern, ...] = ()
    data_center: tuple[Pattern, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmGpus:
    """GPUs that exist only in machines with an Arm processor.

    Attributes:
        names: Regular expressions as `GpuModel.names`.
        sources: Documents that state that TensorFlow's wheels have no CUDA for Arm, and what NVIDIA offers.
    """

    names: tuple[Pattern, ...]
    sources: SourceList


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """GPUs of one compute capability.

    Attributes:
        generation: Architecture, such as `Ampere`.
        gpus: Names of the GPUs, as the catalog orders them.
        since: First CUDA release whose libraries have code for them.
        last: Last CUDA release that supports them; None while newer releases do.
        last_driver: Last driver branch that supports them; None while newer branches do.
    """

    capability: Release
    generation: str
    gpus: tuple[str, ...]
    since: Release
    last: Release | None
    last_driver: Release | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorBuild:
    """A container of NVIDIA with a build of TensorFlow that no row has.

    Attributes:
        name: NVIDIA's name, such as `25.02-tf2-py3`.
        oldest: Oldest compute capability that it is documented for.
        newest: Newest, likewise.
    """

    name: str
    tensorflow: Release
    python: Release
    oldest: Release
    newest: Release
    what: str
    sources: SourceList


def architectures_of(gpus: Iterable[GpuModel]) -> tuple[Architecture, ...]:
    """Return GPUs by compute capability, ascending."""
    models: dict[Release, list[GpuModel]] = {}
    for gpu in gpus:
        models.setdefault(gpu.capability, []).append(gpu)
    return tuple(
        Architecture(
            capability=capability,
            generation=same[0].generation,
            gpus=tuple(gpu.name for gpu in same),
            since=same[0].since,
            last=same[0].last,
            last_driver=same[0].last_driver,
        )
        for capability, same in sorted(models.items())
    )
