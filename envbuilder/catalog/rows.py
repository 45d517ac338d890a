"""One environment from its document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from packaging.version import InvalidVersion, Version

from envbuilder.catalog.tables import read_sources
from envbuilder.model.cuda import CudaNeed, CudnnNeed, CudnnRule, GpuCode, KernelFamily, LibraryLink, LibrarySet
from envbuilder.model.refs import normalized
from envbuilder.model.rows import (
    BaseChoice,
    BaseSystem,
    Constraint,
    CudaProvider,
    Deviation,
    Environment,
    Evidence,
    FrameworkWheel,
    PythonProvider,
)
from envbuilder.model.sources import Advisory
from envbuilder.model.versions import Release
from envbuilder.reading.fields import Fields
from envbuilder.reading.requirements import os_package, requirement, sha256

T = TypeVar("T")
_GRADES = ("documented", "measured", "resolved", "cpu", "gpu")
_LINKAGES = ("needed", "dlopen")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The shared matrices that a row refers to, by id."""

    bases: Mapping[str, BaseSystem]
    libraries: Mapping[str, LibrarySet]
    advisories: Mapping[str, Advisory]


def read_environment(root: Fields, tables: Tables) -> Environment | None:
    """One file under `environments/`.

    Returns:
        None when the row has no usable base; the fault is noted.
    """
    bases = [_choice(each, tables) for each in root.children("bases", required=True)]
    environment = Environment(
        id=root.text("id"),
        summary=root.text("summary"),
        framework=_framework(root.child("tensorflow")),
        cuda=_cuda(root.child("cuda")) if root.has("cuda") else None,
        cutoff=root.day("cutoff"),
        constraints=_constraints(root, "constraints", tables),
        additions=_constraints(root, "additions", tables),
        source_builds=tuple(sorted(root.texts("source_builds", normalized))),
        bases=tuple(base for base in bases if base is not None),
        evidence=_evidence(root),
        sources=read_sources(root),
    )
    return environment if environment.bases else None


def _framework(fields: Fields) -> FrameworkWheel:
    return FrameworkWheel(
        package=fields.value("package", normalized, fallback=""),
        version=fields.value("version", _version, fallback=Version("0")),
        pythons=tuple(sorted(fields.texts("pythons", Release, required=True))),
        glibc=fields.release("glibc"),
        needs_avx=fields.flag("needs_avx", default=True),
        measured=fields.value("measured", sha256, fallback="", default=""),
        sources=read_sources(fields),
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


def _evidence(root: Fields) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            grade=each.value("grade", lambda text: _one_of(text, _GRADES), fallback=""),
            what=each.text("what"),
            when=each.day("when"),
        )
        for each in root.children("evidence", required=True)
    )


def _named(fields: Fields, name: str, table: Mapping[str, T]) -> T | None:
    key = fields.text(name)
    if key and key not in table:
        fields.fault(name, f"{key!r} is not in the catalog", f"known: {', '.join(sorted(table))}")
    return table.get(key)


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        raise ValueError(f"{text!r} is not a version") from None


def _one_of(text: str, choices: tuple[str, ...]) -> str:
    if text not in choices:
        raise ValueError(f"{text!r} is none of {', '.join(choices)}")
    return text
