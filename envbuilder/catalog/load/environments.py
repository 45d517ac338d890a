"""Decoder of one environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from packaging.version import Version

from envbuilder.catalog.cuda import CudaNeed, CudnnNeed, CudnnRule, GpuCode, KernelFamily, LibraryLink, LibrarySet
from envbuilder.catalog.environments import (
    BaseChoice,
    BaseSystem,
    Constraint,
    CudaProvider,
    Deviation,
    Environment,
    FrameworkWheel,
    OtherRelease,
    PythonProvider,
)
from envbuilder.catalog.load.evidence import Proof
from envbuilder.catalog.load.tables import read_sources
from envbuilder.catalog.sources import Advisory
from envbuilder.core.references import normalized
from envbuilder.core.versions import Release
from envbuilder.core.yaml.fields import Fields
from envbuilder.core.yaml.requirements import os_package, pep440, requirement, sha256

T = TypeVar("T")
_LINKAGES = ("needed", "dlopen")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The shared matrices that a row refers to, by id."""

    bases: Mapping[str, BaseSystem]
    libraries: Mapping[str, LibrarySet]
    advisories: Mapping[str, Advisory]


def read_environment(root: Fields, tables: Tables, proof: Proof) -> Environment | None:
    """Decode one file under `environments/`.

    Args:
        root: The document.
        tables: The matrices that it refers to.
        proof: Evidence of the row.

    Returns:
        None if the row has no usable base; the fault is recorded.
    """
    bases = [_choice(each, tables) for each in root.children("bases", required=True)]
    environment = Environment(
        id=root.text("id"),
        summary=root.text("summary"),
        framework=_framework(root.child("tensorflow"), tables),
        cuda=_cuda(root.child("cuda")) if root.has("cuda") else None,
        cutoff=root.day("cutoff"),
        constraints=_constraints(root, "constraints", tables),
        additions=_constraints(root, "additions", tables),
        source_builds=tuple(sorted(root.texts("source_builds", normalized))),
        advisories=_advisories(root, tables),
        bases=tuple(base for base in bases if base is not None),
        evidence=proof.evidence,
        unproven=proof.unproven,
        sources=read_sources(root),
    )
    return environment if environment.bases else None


def _framework(fields: Fields, tables: Tables) -> FrameworkWheel:
    package = fields.value("package", normalized, fallback="")
    return FrameworkWheel(
        package=package,
        version=fields.value("version", pep440, fallback=Version("0")),
        pythons=tuple(sorted(fields.texts("pythons", Release, required=True))),
        others=tuple(_other(each, package, tables) for each in fields.children("others")),
        glibc=fields.release("glibc"),
        glibcxx=fields.release("glibcxx"),
        needs_avx=fields.flag("needs_avx", default=True),
        measured=fields.value("measured", sha256, fallback="", default=""),
        sources=read_sources(fields),
    )


def _other(fields: Fields, package: str, tables: Tables) -> OtherRelease:
    return OtherRelease(
        package=fields.value("package", normalized, fallback="", default=package),
        version=fields.value("version", pep440, fallback=Version("0")),
        pythons=tuple(sorted(fields.texts("pythons", Release, required=True))),
        advisory=_named(fields, "advisory", tables.advisories) if fields.has("advisory") else None,
    )


def _cuda(fields: Fields) -> CudaNeed:
    cudnn = fields.child("cudnn")
    return CudaNeed(
        compiled=fields.release("compiled"),
        linkage=fields.value("linkage", lambda text: _one_of(text, _LINKAGES), fallback=""),
        sonames=tuple(sorted(fields.texts("sonames", str, required=True))),
        optional=tuple(sorted(fields.texts("optional", str))),
        cudnn=CudnnNeed(compiled=cudnn.release("compiled"), rule=cudnn.choice("rule", CudnnRule)),
        code=GpuCode(families=tuple(_family(each) for each in fields.children("code", required=True))),
    )


def _family(fields: Fields) -> KernelFamily:
    return KernelFamily(
        name=fields.text("name"),
        machine=tuple(sorted(fields.texts("machine", Release))),
        ptx=tuple(sorted(fields.texts("ptx", Release))),
        forward=fields.flag("forward", default=True),
        isa=fields.release("isa") if fields.has("isa") else None,
    )


def _choice(fields: Fields, tables: Tables) -> BaseChoice | None:
    system = _named(fields, "base", tables.bases)
    python = fields.release("python")
    python_provider = fields.choice("python_from", PythonProvider)
    cuda_provider = fields.choice("cuda_from", CudaProvider)
    libraries = _named(fields, "libraries", tables.libraries) if fields.has("libraries") else None
    os_packages = tuple(sorted(fields.texts("os_packages", os_package)))
    links = tuple(LibraryLink(name=each.text("name"), target=each.text("target")) for each in fields.children("links"))
    deviations = tuple(
        Deviation(what=each.text("what"), why=each.text("why"), sources=read_sources(each))
        for each in fields.children("deviations")
    )
    if system is None:
        return None
    return BaseChoice(
        system=system,
        python=python,
        python_provider=python_provider,
        cuda_provider=cuda_provider,
        libraries=libraries,
        os_packages=os_packages,
        links=links,
        deviations=deviations,
    )


def _constraints(root: Fields, name: str, tables: Tables) -> tuple[Constraint, ...]:
    read: list[Constraint] = []
    for each in root.children(name):
        bound = each.value("requirement", requirement, fallback="")
        advisory = _named(each, "advisory", tables.advisories)
        if advisory is not None:
            read.append(Constraint(requirement=bound, advisory=advisory))
    return tuple(sorted(read, key=lambda constraint: constraint.requirement))


def _advisories(root: Fields, tables: Tables) -> tuple[Advisory, ...]:
    named: list[Advisory] = []
    for index, key in enumerate(root.texts("advisories", str)):
        advisory = tables.advisories.get(key)
        if advisory is None:
            root.fault_at(f"advisories[{index}]", f"{key!r} is not in the catalog")
        else:
            named.append(advisory)
    return tuple(sorted(named, key=lambda advisory: advisory.id))


def _named(fields: Fields, name: str, table: Mapping[str, T]) -> T | None:
    key = fields.text(name)
    if key and key not in table:
        fields.fault(name, f"{key!r} is not in the catalog", f"known: {', '.join(sorted(table))}")
    return table.get(key)


def _one_of(text: str, choices: tuple[str, ...]) -> str:
    if text not in choices:
        raise ValueError(f"{text!r} is none of {', '.join(choices)}")
    return text
