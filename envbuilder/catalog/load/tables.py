"""Decoders of the shared matrices: CUDA, bases, advisories, Keras, NVIDIA's own builds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, TypeAlias

from envbuilder.catalog.cuda import CudaFacts
from envbuilder.catalog.environments import BaseSystem
from envbuilder.catalog.field_types import WheelVersion
from envbuilder.catalog.keras import KerasFacts, KerasRule
from envbuilder.catalog.sources import Advisory
from envbuilder.catalog.vendor_builds import VendorBuild
from envbuilder.core.conversion.reading import Mismatch
from envbuilder.core.field_rules import At, NotEmpty, Unique
from envbuilder.core.field_types import exactly
from envbuilder.core.yaml.documents import read
from envbuilder.core.yaml.structured import structured

SCHEMA = 1
SchemaNumber: TypeAlias = Annotated[int, exactly(SCHEMA)]
"""The field `schema` of every matrix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cuda:
    schema: SchemaNumber
    facts: Annotated[CudaFacts, At()]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bases:
    schema: SchemaNumber
    bases: Annotated[tuple[BaseSystem, ...], NotEmpty(), Unique("id")]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Advisories:
    schema: SchemaNumber
    advisories: Annotated[tuple[Advisory, ...], NotEmpty(), Unique("id")]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Keras:
    schema: SchemaNumber
    releases: Annotated[tuple[WheelVersion, ...], NotEmpty()]
    rules: Annotated[tuple[KerasRule, ...], NotEmpty()]


@dataclass(frozen=True, slots=True, kw_only=True)
class _VendorBuilds:
    schema: SchemaNumber
    builds: Annotated[tuple[VendorBuild, ...], NotEmpty()]


def read_cuda(text: str, file: str) -> CudaFacts:
    """Read `cuda.yaml`: drivers by CUDA release and family, GPUs by compute capability, PTX versions, cuDNN's GPUs."""
    return structured(_Cuda, read(text, file), file, check=_ascending).facts


def _ascending(document: _Cuda) -> Iterator[Mismatch]:
    facts = document.facts
    columns = {
        "releases": [release.version for release in facts.releases],
        "ptx": [entry.isa for entry in facts.ptx],
        "cudnn": [entry.cudnn for entry in facts.cudnn],
    }
    for name, versions in columns.items():
        if versions != sorted(versions):
            yield Mismatch(path=(name,), problem="must be in ascending order")


def read_bases(text: str, file: str) -> tuple[BaseSystem, ...]:
    """Read `bases.yaml`: operating systems that an image can start from."""
    return structured(_Bases, read(text, file), file).bases


def read_advisories(text: str, file: str) -> tuple[Advisory, ...]:
    """Read `advisories.yaml`: the known traps."""
    return structured(_Advisories, read(text, file), file).advisories


def read_keras(text: str, file: str) -> KerasFacts:
    """Read `keras.yaml`: the releases of Keras, and what was seen of them with TensorFlow."""
    document = structured(_Keras, read(text, file), file, check=_keras_problems)
    return KerasFacts(releases=document.releases, rules=document.rules)


def _keras_problems(document: _Keras) -> Iterator[Mismatch]:
    if list(document.releases) != sorted(set(document.releases)):
        yield Mismatch(path=("releases",), problem="must be in ascending order, each once")
    for index, rule in enumerate(document.rules):
        if not any(release in rule.keras for release in document.releases):
            yield Mismatch(path=("rules", index, "keras"), problem="is about none of the releases above")


def read_vendor_builds(text: str, file: str) -> tuple[VendorBuild, ...]:
    """Read `vendor-builds.yaml`: NVIDIA's own containers with TensorFlow."""
    return structured(_VendorBuilds, read(text, file), file).builds
