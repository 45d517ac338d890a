"""Layer caches, as configured by the command line, the spec and the environment."""

from __future__ import annotations

from collections.abc import Sequence

from envbuilder.core.errors import UsageError
from envbuilder.core.references import ImageRef
from envbuilder.image.layers.ports import LayerCache, LayerCacheWriter, NoLayerCache
from envbuilder.image.layers.registry_cache import CacheRepositories, RegistryCacheWriter, RegistryLayerCache
from envbuilder.lock.ingredient_sources import Sources, layer_caches
from envbuilder.lock.lock import Lock
from envbuilder.wiring.configuration import LAYER_CACHE
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import Settings
from envbuilder.wiring.sources import registry_client


def caches_to_read(settings: Settings, sources: Sources) -> tuple[str, ...]:
    """Return the trusted layer caches: of the command line or the spec, else of this host.

    Returns:
        Repositories, as `HOST/NAME`, in the order in which they are asked.

    Raises:
        UsageError: The setting does not hold repositories.
    """
    given = settings.given(LAYER_CACHE)
    if sources.layer_caches or given is None:
        return sources.layer_caches
    try:
        return layer_caches(list(given.words))
    except ValueError as error:
        raise UsageError(f"{given.origin}: {error}", hint="specify repositories as HOST/NAME") from error


def layer_cache(session: Session, sources: Sources) -> LayerCache:
    """Return the configured layer caches to read; connections are closed when the command ends."""
    return caches_to_use(session, sources)[0]


def caches_to_use(
    session: Session, sources: Sources, *, write: str = "", pushed: Sequence[str] = (), offline: bool = False
) -> tuple[LayerCache, LayerCacheWriter | None]:
    """Return the configured layer caches to read, and the one to write; connections are closed when the command ends.

    Args:
        session: Settings and stores.
        sources: Names the caches to read.
        write: Repository that receives layers; empty for none.
        pushed: Names that the images are pushed to in this run: their layers are mounted, not sent twice.
        offline: Read none.
    """
    read = () if offline else caches_to_read(session.settings, sources)
    if not (read or write):
        return NoLayerCache(), None
    client = registry_client(session.settings)()
    session.settings.on_close(client.close)
    repositories = CacheRepositories(client=client, report=session.progress)
    places = [ImageRef.parse(place) for place in read]
    cache = RegistryLayerCache(repositories=repositories, store=session.store, read=places)
    if not write:
        return cache, None
    destinations = [ImageRef.parse(name).repository for name in pushed]
    before = session.records.pushed(write.partition("/")[0])
    writer = RegistryCacheWriter(
        repositories=repositories,
        store=session.store,
        write=ImageRef.parse(write),
        mount_from=tuple(dict.fromkeys((*read, *destinations, *before))),
    )
    return cache, writer


def holds_base(session: Session, sources: Sources, lock: Lock) -> bool:
    """Return True if a configured layer cache holds the layer of the tree that a lock is based on."""
    if not lock.base.kind.is_tree or lock.image is None:
        return False
    layers = [layer.blob for layer in lock.image.layers if layer.diff_id == lock.base.digest]
    return bool(layers and layer_cache(session, sources).held(layers))
