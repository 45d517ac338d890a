"""The engines that the contract is checked on: the fake always, Docker when it answers or is required."""

from __future__ import annotations

import itertools
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import docker
import pytest

from envbuilder.core.errors import EngineUnavailable
from envbuilder.image.builds import Builder, BuildRequest
from envbuilder.image.container_engine import ContainerEngine
from envbuilder.image.docker.engine import connect
from tests.contract import registry
from tests.contract.archives import save_archive
from tests.fakes.engine import FakeEngine

REQUIRED = os.environ.get("ENVBUILDER_REQUIRE_ENGINE") == "1"
_PREFIX = "envbuilder-test"


def _answering() -> list[str]:
    if REQUIRED:
        return ["fake", "docker"]
    try:
        connect(os.environ).info()
    except EngineUnavailable:
        return ["fake"]
    return ["fake", "docker"]


ENGINES = _answering()
on_docker = pytest.mark.parametrize("world", [name for name in ENGINES if name != "fake"], indirect=True)


@dataclass(slots=True, kw_only=True)
class World:
    """An engine with a tiny base in it, and names that no other test uses.

    Attributes:
        engine: The engine under contract.
        real: Whether commands are really run.
        folder: A place for files.
        base: A reference in the engine; its entry point fails, so a test sees when it was not replaced.
        open_registry: Gives `host:port` of a registry that answers.
        run: Part of every name that this run of the tests gives, so that it takes away no other's.
    """

    engine: ContainerEngine
    real: bool
    folder: Path
    base: str
    open_registry: Callable[[], str]
    run: str
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def unique(self) -> str:
        """A word that was not used before, so that no cache of the engine knows it."""
        return f"n{self.run}-{next(self._numbers)}"

    def new_name(self, registry_host: str = "") -> str:
        """An image reference that nothing has."""
        host = f"{registry_host}/" if registry_host else ""
        return f"{host}{_PREFIX}/{self.unique()}:1"

    def request(self, *lines: str, builder: Builder = Builder.BUILDKIT, tags: int = 1) -> BuildRequest:
        """A build of the base with further lines."""
        folder = self.folder / self.unique()
        folder.mkdir()
        text = "\n".join((f"FROM {self.base}", *lines, ""))
        for name in ("Dockerfile", "Dockerfile.classic"):
            (folder / name).write_text(text, encoding="utf-8")
        return BuildRequest(folder=folder, tags=tuple(self.new_name() for _ in range(tags)), builder=builder)


@contextmanager
def _registries(folder: Path) -> Iterator[Callable[[], str]]:
    """Starts one registry when it is first asked for."""
    with ExitStack() as stack:
        started: list[str] = []

        def open_registry() -> str:
            if not registry.PROGRAM:
                (pytest.fail if REQUIRED else pytest.skip)("docker-registry is not installed")
            if not started:
                started.append(stack.enter_context(registry.serve(folder)))
            return started[0]

        yield open_registry


@contextmanager
def _removing_images(run: str) -> Iterator[None]:
    """Leave the engine as it was: every name that this run gave goes, and what was built on its base."""
    try:
        yield
    finally:
        client = docker.APIClient(version="auto")
        for image in client.images():
            for name in image["RepoTags"] or ():
                if f"{_PREFIX}/" in name and run in name:
                    client.remove_image(name, force=True)
        for image in client.images(filters={"dangling": True, "label": f"run={run}"}):
            client.remove_image(image["Id"], force=True)
        client.close()


@pytest.fixture(scope="module", params=ENGINES)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    run = uuid.uuid4().hex[:8]
    base = f"{_PREFIX}/base-{run}:1"
    archive = folder / "base.tar"
    save_archive(archive, (base,), run=run)
    if request.param == "fake":
        engine: ContainerEngine = FakeEngine(registries=("localhost:5000",))
        engine.load(archive)
        address = "localhost:5000"
        yield World(engine=engine, real=False, folder=folder, base=base, open_registry=lambda: address, run=run)
        return
    with _registries(folder) as open_registry, _removing_images(run):
        engine = connect(os.environ)
        engine.load(archive)
        yield World(engine=engine, real=True, folder=folder, base=base, open_registry=open_registry, run=run)
