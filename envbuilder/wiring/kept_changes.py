"""Removal of kept changes, by the engine that has them."""

from __future__ import annotations

from envbuilder.core.cache_directories import KEPT
from envbuilder.image.docker.engine import connect
from envbuilder.image.running.changes import KeptChanges, remove_kept
from envbuilder.image.running.kept_images import container_of
from envbuilder.wiring.node_runtimes import podman
from envbuilder.wiring.settings import Settings


def remove_changes(settings: Settings, name: str) -> int:
    """Remove changes that are kept under a name; return the bytes freed.

    Raises:
        UsageError: There are none of this name, or a run uses them.
        EngineUnavailable, ToolMissing: The engine that has them does not answer.
    """

    def forget(kept: KeptChanges) -> None:
        engine = podman(settings) if kept.engine == "podman" else connect(settings.environ)
        engine.forget(container_of(kept), kept.reference)

    return remove_kept(settings.cache / KEPT, name, forget)
