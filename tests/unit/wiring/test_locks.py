"""Locks, digests of bases and pushes go through the adapters that belong to the sources of this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest

from envbuilder.catalog.environments import BaseKind
from envbuilder.core.errors import UsageError
from envbuilder.lock.base_choice import Refused
from envbuilder.lock.create import lock
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import BasePin, Lock
from envbuilder.lock.lockfile import digest, dump
from envbuilder.lock.spec import Spec
from envbuilder.oci.images import MANIFEST_TYPE
from envbuilder.oci.store import Store
from envbuilder.wiring.build_inputs import delivery
from envbuilder.wiring.ingredients import ingredient_sources
from envbuilder.wiring.locks import known_lock, obtain_lock, renderable_lock
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import settings
from tests.fakes.catalogs import real_catalog
from tests.fakes.engine import FakeEngine
from tests.fakes.ports import lock_ports
from tests.unit.cli.running import CommandLine
from tests.unit.oci.registry.conftest import image_of
from tests.unit.oci.registry.faulty import serving

Obtain = Callable[[Session, str | None, Sources], tuple[Lock, Sources]]

ENV = "tf-2.15-cpu"
SPEC = f'environment: "{ENV}"\nenv: {{A: "1"}}\nsources: {{index: "https://index.invalid/simple"}}\n'


class Here:
    """A folder with a lock, and a session whose engine is a fake."""

    def __init__(self, shell: CommandLine) -> None:
        self.shell = shell
        self.said: list[str] = []
        self.lock: Lock = lock(real_catalog(), Spec(environment=ENV, env=(("A", "1"),)), lock_ports())
        shell.write("envbuilder.lock", dump(self.lock))
        self.session = Session(settings(), real_catalog(), self.said.append)
        self.session.__dict__["engine"] = FakeEngine()


@pytest.fixture
def here(envbuilder: CommandLine) -> Here:
    return Here(envbuilder)


@pytest.mark.parametrize("obtain", [obtain_lock, known_lock, renderable_lock])
def test_the_lock_in_this_directory_is_taken_with_the_sources_of_its_spec(here: Here, obtain: Obtain) -> None:
    here.shell.write("envbuilder.yaml", SPEC)
    found, sources = obtain(here.session, None, Sources(registry_mirror="localhost:5000"))
    assert digest(found) == digest(here.lock)
    assert (sources.index, sources.registry_mirror) == ("https://index.invalid/simple", "localhost:5000")


@pytest.mark.parametrize("obtain", [obtain_lock, known_lock, renderable_lock])
def test_a_lock_that_is_older_than_its_spec_is_refused(here: Here, obtain: Obtain) -> None:
    here.shell.write("envbuilder.yaml", SPEC.replace('"1"', '"2"'))
    with pytest.raises(UsageError) as refused:
        obtain(here.session, "envbuilder.lock", Sources())
    assert "envbuilder lock" in refused.value.hint


def test_an_environment_is_stated_without_a_base_and_fetches_nothing(here: Here) -> None:
    found, _ = known_lock(here.session, ENV, Sources(), base="debian-bookworm")
    assert (found.environment, found.base.id) == (ENV, "debian-bookworm")
    assert found.unpinned
    assert list(here.session.settings.room("locks").glob("*.lock")) == []


def test_without_an_engine_the_registry_is_asked_for_the_digest_of_a_base(here: Here, tmp_path: Path) -> None:
    here.shell.set("DOCKER_HOST", "unix:///nonexistent/docker.sock")
    session = Session(settings(), real_catalog(), here.said.append)
    system = next(each for each in real_catalog().bases if each.id == "nvidia-cuda-8.0-cudnn6")
    bases = ingredient_sources(session, Spec(environment=ENV)).bases[BaseKind.IMAGE]
    name, _, tag = system.image.partition(":")
    with serving() as registry:
        mirror = Sources(registry_mirror=registry.host)
        assert isinstance(bases.locate(system, mirror), Refused)
        image = image_of(Store(folder=tmp_path / "published"), b"a layer")
        registry.manifests[name, tag] = (MANIFEST_TYPE, image.manifest.content)
        registry.blobs[name, image.config.descriptor.digest] = image.config.content
        found = bases.locate(system, mirror)
    assert isinstance(found, BasePin)
    assert (found.image, found.digest) == (system.image, image.manifest.descriptor.digest)


def test_a_pushed_repository_is_kept_so_that_layers_are_mounted_from_it(here: Here) -> None:
    session = here.session
    image = image_of(session.store, b"a layer")
    with serving() as registry:
        for name in ("team/one", "team/two"):
            names = [f"{registry.host}/{name}:1"]
            with delivery(session).registry.pushes(names, Sources(), lambda _: None) as pushes:
                pushes.finish(image)
        uploads = [seen.path for seen in registry.seen if seen.method == "POST" and "/team/two/" in seen.path]
        assert session.records.pushed(registry.host) == (f"{registry.host}/team/one", f"{registry.host}/team/two")
    assert any("from=team/one" in unquote(path) for path in uploads)
