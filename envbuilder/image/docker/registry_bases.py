"""Base images in registries: their digests for locks, and their transfer into the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from envbuilder.catalog.environments import BaseKind, BaseSystem
from envbuilder.core.errors import EngineUnavailable, EnvbuilderError, VerificationFailed
from envbuilder.core.references import ImageRef
from envbuilder.image.builds import ImageInfo
from envbuilder.image.container_engine import EngineImages, EngineRegistry, Listener
from envbuilder.lock.base_choice import Refused
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import BasePin


class PullingEngine(EngineImages, EngineRegistry, Protocol):
    """An engine that has images, or pulls them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryBases:
    """Base images of the engine or of a registry.

    Attributes:
        engine: The engine; it asks the registry, with its own credentials and proxy.
        ask: Returns the digest that a registry has for an image; used if no engine answers.
        mirror: Registry of this host that serves the images; empty for the one in their names.
    """

    engine: PullingEngine
    ask: Callable[[ImageRef], str]
    mirror: str = ""

    def locate(self, system: BaseSystem, sources: Sources) -> BasePin | Refused:
        """Return the image by digest: the digest in the catalog if there is one, else that of the registry."""
        reference = ImageRef.parse(system.image)
        wanted = ImageRef(repository=reference.repository, tag=reference.tag, digest=system.digest)
        try:
            digest = self._digest(wanted, sources)
        except EnvbuilderError as error:
            return Refused(base=system.id, reason=error.message.splitlines()[0], hint=error.hint)
        return BasePin(id=system.id, kind=BaseKind.IMAGE, image=system.image, digest=digest)

    def _digest(self, wanted: ImageRef, sources: Sources) -> str:
        try:
            return self._local_digest(wanted) or self.engine.registry_digest(self._asked(wanted, sources))
        except EngineUnavailable:
            return self.ask(self._asked(wanted, sources))

    def _local_digest(self, wanted: ImageRef) -> str:
        known = self.engine.image(str(wanted))
        if known is None:
            return ""
        prefix = f"{wanted.repository}@"
        return next((name.removeprefix(prefix) for name in known.digests if name.startswith(prefix)), "")

    def _asked(self, wanted: ImageRef, sources: Sources) -> ImageRef:
        mirror = sources.registry_mirror or self.mirror
        return wanted.at_registry(mirror) if mirror else wanted


def fetch_base(  # noqa: PLR0913  each describes a different property of one base
    engine: PullingEngine, pin: BasePin, reference: ImageRef, mirror: str, listener: Listener, *, layers: int = 1
) -> str:
    """Make sure that the engine has a base of a lock, and no other image.

    Args:
        engine: The engine.
        pin: The base.
        reference: Its name in a Dockerfile.
        mirror: Registry that serves images in place of the one in their names; empty for none.
        listener: Receives the progress of transfers.
        layers: Number of layers of a tree: two if OS packages were added to it.

    Returns:
        The name of the image in the engine; a mirror's image keeps the mirror's name.

    Raises:
        SourceUnreachable: Neither the engine nor the registry has it.
        VerificationFailed: A tree of that name is not the tree of the lock.
    """
    mirrored = reference.at_registry(mirror) if mirror else reference
    for name in (reference, mirrored):
        known = engine.image(str(name))
        if known is not None:
            return _verified(known, pin, name, layers)
    return _verified(engine.pull(mirrored, listener), pin, mirrored, layers)


def _verified(image: ImageInfo, pin: BasePin, reference: ImageRef, layers: int) -> str:
    if pin.kind.is_tree and (image.diff_ids[:1] != (pin.digest,) or len(image.diff_ids) != layers):
        raise VerificationFailed(
            f"{reference} is not the base of the lock: it has layer {', '.join(image.diff_ids)}, not {pin.digest}",
            hint=f"remove it with `docker image rm {reference}`, then build again",
        )
    return str(reference)
