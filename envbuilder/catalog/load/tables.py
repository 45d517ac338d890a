"""Decoders of the shared matrices: CUDA, bases, library sets, advisories."""

from __future__ import annotations

import re

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from envbuilder.catalog.cuda import (
    CudaFacts,
    CudaFamily,
    CudaRelease,
    CudnnCode,
    ForwardCompatibility,
    GpuModel,
    LibrarySet,
    PtxIsa,
)
from envbuilder.catalog.environments import BaseKind, BaseSystem, Publication, PublicationState
from envbuilder.catalog.sources import Advisory, Breakage, Source
from envbuilder.core.digests import sha256_digest
from envbuilder.core.references import ImageRef, normalized
from envbuilder.core.versions import Release
from envbuilder.core.yaml.fields import Fields
from envbuilder.core.yaml.requirements import os_package

_NO_RELEASE = Release("0")


def read_sources(fields: Fields) -> tuple[Source, ...]:
    """Decode the `sources` of an entry; record a fault if there is none."""
    sources = fields.texts("sources", lambda text: Source(text=text))
    if not sources:
        fields.fault("sources", "must name at least one source")
    return sources


def read_cuda(root: Fields) -> CudaFacts:
    """Decode `cuda.yaml`: drivers by CUDA release and family, GPUs by compute capability, PTX, cuDNN's GPUs."""
    arm = root.children("arm")
    facts = CudaFacts(
        releases=tuple(
            CudaRelease(version=each.release("version"), driver=each.release("driver"))
            for each in root.children("releases", required=True)
        ),
        families=tuple(
            CudaFamily(major=each.integer("major"), driver=each.release("driver"))
            for each in root.children("families", required=True)
        ),
        gpus=tuple(_gpu(each) for each in root.children("gpus", required=True)),
        sources=read_sources(root),
        ptx=tuple(PtxIsa(isa=each.release("isa"), cuda=each.release("cuda")) for each in root.children("ptx")),
        cudnn=tuple(_cudnn_code(each) for each in root.children("cudnn")),
        forward=tuple(_forward(each) for each in root.children("forward")),
        arm=tuple(name for each in arm for name in each.texts("names", _pattern, required=True)),
        arm_sources=tuple(source for each in arm for source in read_sources(each)),
    )
    _must_ascend(root, "releases", [release.version for release in facts.releases])
    _must_ascend(root, "ptx", [entry.isa for entry in facts.ptx])
    _must_ascend(root, "cudnn", [entry.cudnn for entry in facts.cudnn])
    return facts


def _gpu(fields: Fields) -> GpuModel:
    return GpuModel(
        name=fields.text("name"),
        generation=fields.text("generation"),
        capability=fields.release("capability"),
        since=fields.release("since"),
        last=fields.release("last") if fields.has("last") else None,
        last_driver=fields.release("last_driver") if fields.has("last_driver") else None,
        names=fields.texts("names", _pattern),
        data_center=fields.texts("data_center", _pattern),
    )


def _forward(fields: Fields) -> ForwardCompatibility:
    return ForwardCompatibility(
        cuda=fields.release("cuda"),
        drivers=fields.texts("drivers", Release, required=True),
        oldest=fields.release("oldest"),
        newest=fields.release("newest") if fields.has("newest") else None,
        sources=read_sources(fields),
    )


def _cudnn_code(fields: Fields) -> CudnnCode:
    return CudnnCode(
        cudnn=fields.release("cudnn"),
        oldest=fields.release("oldest"),
        newest=fields.release("newest") if fields.has("newest") else None,
        sources=read_sources(fields),
    )


def _must_ascend(root: Fields, name: str, versions: list[Release]) -> None:
    if versions != sorted(versions):
        root.fault(name, "must be in ascending order")


def read_advisories(root: Fields) -> tuple[Advisory, ...]:
    """Decode `advisories.yaml`: the known traps."""
    return tuple(
        Advisory(
            id=each.text("id"),
            title=each.text("title"),
            reason=each.text("reason"),
            remedy=each.text("remedy"),
            sources=read_sources(each),
            breaks=tuple(_breakage(entry) for entry in each.children("breaks")),
        )
        for each in root.children("advisories", required=True)
    )


def _breakage(fields: Fields) -> Breakage:
    package = fields.value("package", _package, fallback=Requirement("none"))
    return Breakage(
        tensorflow=fields.value("tensorflow", read_range, fallback=SpecifierSet()),
        package=normalized(package.name),
        versions=package.specifier,
        reason=fields.text("reason"),
    )


def _package(text: str) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        raise ValueError(f"{text!r} is not a package with versions, such as numpy>=2") from error


def read_range(text: str) -> SpecifierSet:
    """Return a range of versions.

    Raises:
        ValueError: The text is not one.
    """
    try:
        return SpecifierSet(text)
    except InvalidSpecifier as error:
        raise ValueError(f"{text!r} is not a range of versions, such as >=1.5,<1.13") from error


def read_libraries(root: Fields) -> tuple[LibrarySet, ...]:
    """Decode `libraries.yaml`: CUDA libraries that fit together."""
    return tuple(_library_set(each) for each in root.children("libraries", required=True))


def _library_set(fields: Fields) -> LibrarySet:
    return LibrarySet(
        id=fields.text("id"),
        cuda=fields.release("cuda"),
        cudnn=fields.release("cudnn"),
        wheels=tuple(sorted(fields.texts("wheels", _exact))),
        os_packages=tuple(sorted(fields.texts("os_packages", os_package))),
        provided=tuple(sorted(fields.texts("provided", str))),
        sonames=tuple(sorted(fields.texts("sonames", str, required=True))),
        sources=read_sources(fields),
    )


def read_bases(root: Fields) -> tuple[BaseSystem, ...]:
    """Decode `bases.yaml`: operating systems that an image can start from."""
    return tuple(_base(each) for each in root.children("bases", required=True))


def _base(fields: Fields) -> BaseSystem:
    kind = fields.choice("kind", BaseKind)
    image = kind is BaseKind.IMAGE
    return BaseSystem(
        id=fields.text("id"),
        kind=kind,
        image=fields.value("image", _tagged, fallback="") if image else "",
        digest=fields.value("digest", _digest, fallback="", default="") if image else "",
        suite="" if image else fields.text("suite"),
        components=() if image else fields.texts("components", str, required=True),
        packages=() if image else tuple(sorted(fields.texts("packages", os_package, required=True))),
        glibc=fields.release("glibc"),
        glibcxx=fields.release("glibcxx"),
        python=fields.release("python"),
        python_package=fields.text("python_package", "") if image else "",
        cuda=_optional(fields.release("cuda", _NO_RELEASE)) if image else None,
        cudnn=_optional(fields.release("cudnn", _NO_RELEASE)) if image else None,
        publication=_publication(fields.child("publication")),
        sources=read_sources(fields),
    )


def _publication(fields: Fields) -> Publication:
    return Publication(
        state=fields.choice("state", PublicationState),
        date=fields.day("date"),
        note=fields.text("note"),
        sources=read_sources(fields),
    )


def _optional(release: Release) -> Release | None:
    return None if release == _NO_RELEASE else release


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from error
    return text


def _exact(text: str) -> str:
    name, equals, version = text.partition("==")
    if not equals or not name or not version or version.endswith("*"):
        raise ValueError(f"{text!r} must pin one version: name==version")
    return text


def _tagged(text: str) -> str:
    reference = ImageRef.parse(text)
    if not reference.tag or reference.digest:
        raise ValueError(f"{text!r} must be repository:tag")
    return text


def _digest(text: str) -> str:
    return sha256_digest(text) if text else ""
