"""The engine `docker`: renders the Dockerfile of a lock and builds it through the Docker SDK."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from envbuilder.core.errors import UsageError
from envbuilder.core.references import ImageRef
from envbuilder.image.builder import BuildOptions, BuildRun, BuiltImage, BuiltLayer, Delivered, ImageRequest
from envbuilder.image.builds import Builder, BuildRequest, BuildResult
from envbuilder.image.container_engine import EngineBuilds, EngineRegistry, EngineState, Listener
from envbuilder.image.dockerfile.step_names import step_title
from envbuilder.image.render import ContextFiles, rendered, write
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock


class DockerfileInputs(Protocol):
    """Provider of what the Dockerfile of a lock needs beside the lock."""

    def context_files(self, lock: Lock, sources: Sources) -> ContextFiles:
        """Fetch the tools and the vendor libraries of a lock; return them with the settings of this host."""
        ...

    def provide_base_of(self, lock: Lock, sources: Sources) -> str:
        """Make sure that the engine has the base of a lock; return its name there."""
        ...


class BuildingEngine(EngineBuilds, EngineRegistry, EngineState, Protocol):
    """An engine that builds images and pushes them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerBuilder:
    """The `ImageBuilder` over a container engine.

    Attributes:
        work: Directory for the rendered files; they are removed afterwards.
        proxies: Proxy variables for the build only.
        progress: Progress callback; receives one line of text.
    """

    engine: BuildingEngine
    ingredients: DockerfileInputs
    templates: Path
    work: Path
    proxies: tuple[tuple[str, str], ...]
    progress: Callable[[str], None]

    def build(
        self, requests: Sequence[ImageRequest], options: BuildOptions, listener: Listener
    ) -> tuple[BuiltImage, ...]:
        """See `ImageBuilder.build`; one image after the other, each pushed before the next."""
        return tuple(self._image(request, options, listener) for request in requests)

    def _image(self, request: ImageRequest, options: BuildOptions, listener: Listener) -> BuiltImage:
        result = self._build(request, options, listener)
        to_push = request.names if options.push else ()
        pushes = tuple(self.engine.push(ImageRef.parse(name), listener) for name in to_push)
        return BuiltImage(
            lock=request.lock,
            names=request.names,
            id=result.image.id,
            size=result.image.size,
            layers=tuple(BuiltLayer(title=step_title(each.created_by), size=each.size) for each in result.layers),
            run=BuildRun(steps=result.steps, seconds=result.seconds, builder=result.builder.value),
            delivered=Delivered(pushes=pushes),
        )

    def _build(self, request: ImageRequest, options: BuildOptions, listener: Listener) -> BuildResult:
        lock, sources = request.lock, request.sources
        builder = options.builder or self._builder()
        if builder is Builder.CLASSIC and (lock.os_packages or lock.build_os_packages):
            raise UsageError(
                "the classic builder cannot add OS packages without leaving settings of this host in the image",
                hint="use --builder buildkit",
            )
        inputs = self.ingredients.context_files(lock, sources)
        bases = [("BASE", self.ingredients.provide_base_of(lock, sources))]
        if lock.has_build_base:
            bases.append(("BUILD_BASE", self.ingredients.provide_base_of(lock.build_stage, sources)))
        self.work.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.work, prefix=f"build-{lock.environment}-") as name:
            directory = Path(name) / "context"
            write(rendered(lock, self.templates), directory, inputs)
            asked = BuildRequest(
                folder=directory,
                tags=request.names,
                builder=builder,
                args=tuple(sorted((*bases, *self.proxies))),
                use_cache=options.use_cache,
            )
            return self.engine.build(asked, listener)

    def _builder(self) -> Builder:
        info = self.engine.info()
        if info.sessionless_buildkit:
            return Builder.BUILDKIT
        self.progress(
            f"{info.name} {info.version} with {info.storage} has no BuildKit without a client session; "
            "using the classic builder: one coarse layer, no cache"
        )
        return Builder.CLASSIC
