"""Statements about the trust that a build of a lock requires, and records of those already shown."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from envbuilder.catalog.environments import BaseKind, PythonProvider
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest
from envbuilder.lock.spec import Spec

_SHOWN = 5
_LAYERS = "layers: those that {} has by their keys are not made here, and their content is not compared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    """The sources of a run, as texts without credentials.

    Attributes:
        registry: Registry of the base image; empty for the one in its name.
        mirror: Repository with files that the other sources no longer have; empty for none.
        layers: Layer caches; empty for none.
        bundle: Bundle that is used before all of these, and its signature; empty without a bundle.
        offline: True if nothing is fetched.
    """

    index: str
    debian: str
    ubuntu: str
    registry: str
    mirror: str = ""
    layers: str = ""
    bundle: str = ""
    offline: bool = False

    def archives(self, kind: BaseKind) -> str:
        """Return the archives of the packages of a base."""
        return self.ubuntu if kind is BaseKind.UBUNTU else self.debian


def trusted_by_lock(lock: Lock, origins: Origins, own_tools: Mapping[str, str]) -> tuple[str, ...]:
    """Return the statements about a build of a lock; `own_tools` are the sha256 of those of envbuilder, by name.

    Returns:
        One sentence for each source, then those about code that is run.
    """
    return (
        *_sources(lock, origins),
        *_code(lock, own_tools),
    )


def trusted_by_spec(spec: Spec, origins: Origins, *, index_is_default: bool) -> tuple[str, ...]:
    """Return the statements about locking a spec, as far as it deviates from the defaults."""
    statements: list[str] = []
    if not index_is_default:
        statements.append(f"package index: {origins.index}")
    statements.extend(_mirrors(spec.sources, origins))
    if spec.sources.registry_mirror:
        statements.append(f"registry: {origins.registry}")
    if spec.sources.mirror:
        statements.append(f"mirror: {origins.mirror}")
    if spec.sources.layer_caches:
        statements.append(_LAYERS.format(origins.layers))
    statements += [f"archives of {name}: from {place}" for name, place in spec.sources.publishers]
    if spec.sources.accept_nvidia_eula:
        statements.append("license: the spec or the command line accepts NVIDIA's license for you")
    if spec.source_builds:
        statements.append(f"build scripts: those of {_listed(spec.source_builds)} run where they have no wheel")
    return tuple(statements)


def _mirrors(sources: Sources, origins: Origins) -> Iterator[str]:
    for kind in (BaseKind.DEBIAN, BaseKind.UBUNTU):
        title, archives = f"{kind.value.capitalize()} archive", sources.archives(kind)
        if archives.mirrors:
            yield f"{title}: {origins.archives(kind)}"
        if archives.keyring:
            yield f"{title}: signed by a key of {archives.keyring}"
        if archives.allow_expired:
            yield f"{title}: expired suites too, which lack later security updates"


def is_new(folder: Path, lock: Lock, sentences: tuple[str, ...]) -> bool:
    """Return True if this was not shown for a lock before, and record it; also True if it cannot be recorded.

    The name of each record is a digest of the lock and the sentences.
    """
    text = "\n".join((digest(lock), *sentences))
    record = folder / hashlib.sha256(text.encode()).hexdigest()
    if record.is_file():
        return False
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        record.touch()
    return True


def _sources(lock: Lock, origins: Origins) -> Iterator[str]:
    if origins.layers and not origins.offline:
        yield _LAYERS.format(origins.layers)
    yield from _bundled(lock, origins) if origins.bundle else _fetched(lock, origins)


def _bundled(lock: Lock, origins: Origins) -> Iterator[str]:
    yield f"bundle: {origins.bundle}"
    if not origins.offline:
        archives = origins.archives(lock.base.kind)
        yield f"files missing from the bundle: from {origins.index} and {archives}, by sha256"


def _fetched(lock: Lock, origins: Origins) -> Iterator[str]:
    wheels = len(lock.packages)
    if wheels:
        yield f"packages: {_count(wheels, 'file')} by sha256 from {origins.index}"
    if lock.base.kind is BaseKind.IMAGE:
        yield f"base: {lock.base.image} by digest{f' from {origins.registry}' if origins.registry else ''}"
    else:
        yield f"base: {lock.base.id} by digest, from {origins.archives(lock.base.kind)}"
    if lock.os_packages:
        archives = origins.archives(lock.base.kind)
        yield f"OS packages: {_count(len(lock.os_packages), 'package')} by sha256 from {archives}"
    for archive in lock.cuda.archives if lock.cuda else ():
        yield f"libraries: those of {archive.id} by sha256, published by {archive.publisher}"
    if origins.mirror:
        yield f"mirror: files that these sources no longer have, by sha256 from {origins.mirror}"


def _code(lock: Lock, own_tools: Mapping[str, str]) -> Iterator[str]:
    """Yield the statements about code that is run, or copied into the image, beside packages."""
    if lock.python.provider is PythonProvider.ARCHIVE:
        yield f"interpreter: {lock.python.file} by sha256; it is run"
    for tool in lock.tools:
        if tool.sha256 != own_tools.get(tool.name):
            yield f"tool: {tool.name} {tool.version} by sha256, not the one of this envbuilder"
    if built := [f"{pin.name} {pin.version}" for pin in lock.packages if not pin.is_wheel]:
        yield f"build scripts: those of {_listed(built)} run, as source distributions"
    if lock.files:
        yield f"own files: {_listed([file.path for file in lock.files])}"


def _listed(names: list[str] | tuple[str, ...]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
