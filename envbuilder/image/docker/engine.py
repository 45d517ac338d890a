"""The Docker engine behind the port: opened on first use, so that a command without need for it never waits."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from envbuilder.core.errors import EngineError, EngineUnavailable
from envbuilder.core.references import ImageRef
from envbuilder.image.builds import BuildRequest, BuildResult, EngineInfo, ImageInfo, LoadResult, image_info
from envbuilder.image.container_engine import ContainerEngine, Listener
from envbuilder.image.docker.build import build
from envbuilder.image.docker.endpoint import DEFAULT_SOCKET, endpoint
from envbuilder.image.docker.images import engine_info
from envbuilder.image.docker.keeping import DockerKeeping
from envbuilder.image.docker.loading import load_image
from envbuilder.image.docker.run import execute, follow, follow_in, has_gpus, run
from envbuilder.image.docker.transfer import load, pull, push, registry_digest, save
from envbuilder.image.running.kept_images import KeptImages
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.runtime.command import Console, RunRequest, RunResult
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import PushResult

if TYPE_CHECKING:
    from envbuilder.image.docker.api import DockerApi

_MOST_LAYERS = 120
"""The engine allows 125. Source: https://github.com/moby/moby/blob/v28.5.2/layer/layer_store.go (maxLayerDepth)"""
_IMPORTING = threading.Lock()
"""Held during imports: the SDK's modules import each other in cycles, and a second thread would see partial ones."""


def _nowhere() -> Path:
    raise EngineError("no directory for records of kept changes")


def connect(
    environ: Mapping[str, str], *, timeout: int | None = None, kept: Callable[[], Path] = _nowhere
) -> ContainerEngine:
    """Return the engine named by DOCKER_HOST or a Docker context, or the default one.

    Opens nothing yet, and does not even import the SDK: `EngineUnavailable` comes from the first request.

    Args:
        environ: Environment variables.
        timeout: Seconds that the engine has for each answer; None for the long timeout of builds.
        kept: Returns the directory for records of kept changes.
    """
    return DockerEngine(lambda: _open(environ, timeout), clock=time.monotonic, new_name=_unique, kept=kept)


def default_registry() -> str:
    """Return the address of Docker's default registry, as the SDK defines it."""
    with _IMPORTING:
        from docker.auth import INDEX_URL  # noqa: PLC0415 - importing the SDK takes 0.3 s

    return str(INDEX_URL)


def is_there(environ: Mapping[str, str]) -> bool:
    """Return True if an engine is named, or the default socket exists; sends no request."""
    try:
        where = endpoint(environ)
    except EngineUnavailable:
        return True  # It is named; connecting reports what is wrong with it.
    return bool(where.host) or Path(DEFAULT_SOCKET).exists()


def is_local(environ: Mapping[str, str]) -> bool:
    """Return True if the engine is on this machine, judged by its address."""
    try:
        return endpoint(environ).is_local
    except EngineUnavailable:
        return True


def _open(environ: Mapping[str, str], timeout: int | None) -> DockerApi:
    with _IMPORTING:
        from envbuilder.image.docker.api import open_api  # noqa: PLC0415 - importing the SDK takes 0.3 s

    return open_api(environ) if timeout is None else open_api(environ, timeout=timeout)


def _unique() -> str:
    return f"envbuilder-{uuid.uuid4().hex}"


class DockerEngine:
    """The `ContainerEngine` over the Docker SDK; the implementations are in modules of their own.

    Args:
        opener: Connects; called at most once.
        clock: Returns seconds, monotonic.
        new_name: Returns a name that no container and no build of the engine has.
        kept: Returns the directory for records of kept changes.
    """

    def __init__(
        self,
        opener: Callable[[], DockerApi],
        *,
        clock: Callable[[], float],
        new_name: Callable[[], str],
        kept: Callable[[], Path] = _nowhere,
    ) -> None:
        self._opener = opener
        self._kept = kept
        self._clock = clock
        self._new_name = new_name
        self._opened: DockerApi | None = None

    def info(self) -> EngineInfo:
        """See `ContainerEngine.info`."""
        return engine_info(self._api().version(), self._api().system(), context=self._api().context)

    def image(self, reference: str) -> ImageInfo | None:
        """See `ContainerEngine.image`."""
        found = self._api().inspect_image(reference)
        return None if found is None else image_info(found)

    def registry_digest(self, reference: ImageRef) -> str:
        """See `ContainerEngine.registry_digest`."""
        return registry_digest(self._api(), reference)

    def pull(self, reference: ImageRef, listener: Listener) -> ImageInfo:
        """See `ContainerEngine.pull`."""
        return pull(self._api(), reference, listener)

    def load(self, archive: Path) -> ImageInfo:
        """See `ContainerEngine.load`."""
        return load(self._api(), archive)

    def load_image(self, image: AssembledImage, store: Store, tags: tuple[str, ...]) -> LoadResult:
        """See `ContainerEngine.load_image`."""
        return load_image(self._api(), image, store, tags)

    def save(self, reference: str, archive: Path) -> None:
        """See `ContainerEngine.save`."""
        save(self._api(), reference, archive)

    def tag(self, image_id: str, reference: ImageRef) -> None:
        """See `ContainerEngine.tag`."""
        self._api().tag(image_id, reference)

    def untag(self, reference: str) -> None:
        """See `ContainerEngine.untag`."""
        self._api().untag(reference)

    def build(self, request: BuildRequest, listener: Listener) -> BuildResult:
        """See `ContainerEngine.build`."""
        return build(self._api(), request, listener, clock=self._clock, build_id=self._new_name())

    def push(self, reference: ImageRef, listener: Listener) -> PushResult:
        """See `ContainerEngine.push`."""
        return push(self._api(), reference, listener, self._clock)

    def execute(self, container: str, command: tuple[str, ...], timeout: float) -> RunResult:
        """See `ContainerEngine.execute`."""
        return execute(self._api(), container, command, timeout=timeout, clock=self._clock)

    def has_gpus(self, container: str) -> bool:
        """See `ContainerEngine.has_gpus`."""
        return has_gpus(self._api().inspect_container(container))

    def run(self, request: RunRequest) -> RunResult:
        """See `ContainerEngine.run`."""
        return run(self._api(), request, clock=self._clock, name=self._new_name())

    def follow(self, request: RunRequest, console: Console) -> int:
        """See `ContainerEngine.follow`."""
        api = self._api()
        if not request.keep:
            return follow(api, request, console, name=self._new_name())
        kept = KeptImages(engine="docker", most_layers=_MOST_LAYERS, room=self._kept)
        return kept.follow(
            DockerKeeping(api=api), request, lambda asked, name, _: follow_in(api, asked, console, name=name)
        )

    def forget(self, container: str, image: str) -> None:
        """See `ContainerEngine.forget`."""
        DockerKeeping(api=self._api()).forget(container, image)

    def _api(self) -> DockerApi:
        if self._opened is None:
            self._opened = self._opener()
        return self._opened
