"""Ingredients of a build on this machine, gathered without network access."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from envbuilder.catalog.archives import ArchiveFacts
from envbuilder.catalog.buildable import Buildability, InstalledPython, Inventory
from envbuilder.catalog.environments import BaseKind, BaseSystem, Catalog, PythonProvider
from envbuilder.core.cache_directories import STORE
from envbuilder.core.errors import UsageError
from envbuilder.core.references import ImageRef
from envbuilder.image.base.available_pythons import is_of_system, needed_glibc, packed_pythons, python_programs
from envbuilder.image.base.tree_descriptions import TreeDescription, current
from envbuilder.image.docker.endpoint import image_names
from envbuilder.lock.ingredient_sources import NO_SOURCES, Sources
from envbuilder.lock.publishers import is_address, place_of
from envbuilder.oci.store import Store
from envbuilder.wiring.mirrors import mirrors, places_of_publishers, registry_mirror
from envbuilder.wiring.settings import NOWHERE, Settings

_ENGINE_SECONDS = 0.5
_UV_MIRROR = "UV_PYTHON_INSTALL_MIRROR"


def inventory(settings: Settings, catalog: Catalog, sources: Sources | None = None) -> Inventory:
    """Return the ingredients that a build could use now.

    `sources` are those that the command line or the spec names.
    """
    named = sources or NO_SOURCES
    images = image_names(settings.environ, timeout=_ENGINE_SECONDS)
    return Inventory(
        bases=frozenset((*_trees(settings, catalog), *_images(catalog, images or frozenset()))),
        engine=images is not None,
        pythons=packed_pythons(_cache(settings) / "files"),
        installed=tuple(_installed(settings, catalog)),
        standalone=Buildability.YES if settings.environ.get(_UV_MIRROR) else Buildability.UNKNOWN,
        distributions=frozenset(kind for kind in BaseKind if kind.is_tree and mirrors(settings, named, kind)),
        registry_mirror=registry_mirror(settings, named),
        archives=frozenset(_archives(settings, catalog.archives, named)),
        unaccepted=frozenset(_unaccepted(settings, catalog.archives, named)),
    )


def _archives(settings: Settings, facts: ArchiveFacts, sources: Sources) -> Iterator[str]:
    """Yield the archives in the store, or in a directory that replaces their publisher."""
    store = Store(folder=_cache(settings) / STORE)
    places = places_of_publishers(settings, facts, sources)
    for archive in facts.archives:
        place = place_of(archive.publisher, places, facts)
        folder = Path(place) if place and not is_address(place) else NOWHERE
        if store.has(f"sha256:{archive.sha256}") or any((folder / name).is_file() for name in archive.names):
            yield archive.id


def _unaccepted(settings: Settings, facts: ArchiveFacts, sources: Sources) -> list[str]:
    accepted = sources.accept_nvidia_eula or settings.accepts_nvidia_eula
    return [] if accepted else [publisher.id for publisher in facts.publishers if publisher.eula]


def _installed(settings: Settings, catalog: Catalog) -> Iterator[InstalledPython]:
    wanted = {
        choice.python
        for row in catalog.environments
        for choice in row.bases
        if choice.python_provider is PythonProvider.ARCHIVE
    }
    for version in sorted(wanted):
        for program in python_programs(version, settings.environ):
            glibc = None if is_of_system(program) else needed_glibc(program)
            if glibc is not None:
                yield InstalledPython(version=version, program=str(program), glibc=glibc)


def _cache(settings: Settings) -> Path:
    """Return the cache directory; `NOWHERE` if there is no usable one: then nothing is kept."""
    try:
        return settings.cache
    except UsageError:
        return NOWHERE


def _trees(settings: Settings, catalog: Catalog) -> list[str]:
    folder = _cache(settings) / "bases"
    trees = [system.id for system in catalog.bases if system.kind.is_tree]
    return [name for name in trees if current(TreeDescription, folder / name)]


def _images(catalog: Catalog, names: frozenset[str]) -> list[str]:
    return [system.id for system in catalog.bases if system.kind is BaseKind.IMAGE and _name(system) in names]


def _name(system: BaseSystem) -> str:
    repository = ImageRef.parse(system.image).repository
    return f"{repository}@{system.digest}" if system.digest else system.image
