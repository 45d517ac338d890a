"""A lock becomes an image by a build that names nothing but the lock's ingredients."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import BuildFailed, SourceUnreachable, UsageError
from envbuilder.image.builder import BuildOptions, BuiltImage, ImageRequest, default_names
from envbuilder.image.builds import Builder, BuildEvent, EngineInfo
from envbuilder.image.docker.image_builder import DockerBuilder
from envbuilder.image.plan.layers import plan
from envbuilder.image.render import ContextFiles
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest
from tests.fakes.catalogs import good_lock
from tests.fakes.engine import FAKE_INFO, FakeEngine, fake_image

LOCK = replace(good_lock(), os_packages=())
BASE = plan(LOCK, digest(LOCK)).base
PROXY = ("http_proxy", "http://proxy.example")
_PLAIN = "FROM {{ plan.base }}\nLABEL io.envbuilder.environment={{ lock.environment }}\n"


class Bench:
    """An engine that holds the base, templates that the fake engine understands, and a store with one file."""

    def __init__(self, folder: Path, *, info: EngineInfo = FAKE_INFO, step: str = "echo done") -> None:
        self.engine = FakeEngine(images={BASE: fake_image("base")}, info=info, registries=("localhost:5000",))
        self.told: list[str] = []
        self.events: list[BuildEvent] = []
        self.asked: list[Lock] = []
        self.tools: list[Sources] = []
        self.work = folder / "work"
        self.stored: Path | None = folder / "stored"
        (folder / "stored").write_bytes(b"content")
        self._templates = folder / "templates"
        self._templates.mkdir()
        for name in ("Dockerfile", "Dockerfile.classic", "with-host", "host-README"):
            (self._templates / f"{name}.j2").write_text(f"{_PLAIN}RUN {step}\n", encoding="utf-8")

    def context_files(self, _lock: Lock, sources: Sources) -> ContextFiles:
        self.tools.append(sources)
        return ContextFiles(find=lambda _sha256: self.stored)

    def provide_base_of(self, lock: Lock, _sources: Sources) -> str:
        self.asked.append(lock)
        return BASE

    def builder(self) -> DockerBuilder:
        return DockerBuilder(
            engine=self.engine,
            ingredients=self,
            templates=self._templates,
            work=self.work,
            proxies=(PROXY,),
            progress=self.told.append,
        )

    def build(self, options: BuildOptions | None = None, lock: Lock = LOCK, names: tuple[str, ...] = ()) -> BuiltImage:
        request = ImageRequest(lock=lock, sources=Sources(), names=names or default_names(lock))
        [image] = self.builder().build([request], options or BuildOptions(), self.events.append)
        return image


def test_an_image_is_built_on_the_base_of_the_lock_with_its_tags(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    result = bench.build()
    held = bench.engine.image(result.id)
    assert held is not None
    assert sorted(held.tags) == sorted(default_names(LOCK)) == sorted(result.names)
    assert held.label("io.envbuilder.environment") == LOCK.environment
    assert (result.lock, result.size, result.manifest) == (LOCK, held.size, "")
    assert (bench.asked, bench.tools) == ([LOCK], [Sources()])
    assert bench.events


def test_the_base_and_proxies_are_build_arguments(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.build(BuildOptions(use_cache=False))
    (request,) = bench.engine.builds
    assert request.args == (("BASE", BASE), PROXY)
    assert not request.use_cache


def test_nothing_stays_in_the_work_folder(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.build()
    assert list(bench.work.iterdir()) == []


def test_nothing_stays_after_a_failed_step_either(tmp_path: Path) -> None:
    bench = Bench(tmp_path, step="false")
    with pytest.raises(BuildFailed):
        bench.build()
    assert list(bench.work.iterdir()) == []
    assert bench.engine.image(default_names(LOCK)[0]) is None


def test_an_image_gets_the_names_of_its_request_and_is_pushed_under_each_when_asked(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    names = ("localhost:5000/team/tf:1", "localhost:5000/team/tf:2")
    assert bench.build(names=names).delivered.pushes == ()
    pushed = bench.build(BuildOptions(push=True), names=names).delivered.pushes
    assert tuple(push.reference for push in pushed) == names


def test_several_images_come_in_the_order_of_their_requests(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    requests = [
        ImageRequest(lock=replace(LOCK, name=name), sources=Sources(), names=(f"{name}:1",)) for name in ("b", "a")
    ]
    built = bench.builder().build(requests, BuildOptions(), bench.events.append)
    assert [image.names for image in built] == [("b:1",), ("a:1",)]


def test_layers_have_titles_and_the_run_names_its_builder_and_steps(tmp_path: Path) -> None:
    image = Bench(tmp_path).build()
    assert image.layers[0].title == "base"
    assert image.layers[0].made is None
    assert (image.run.builder, image.run.downloaded) == ("buildkit", None)
    assert image.run.steps


def test_an_engine_without_sessionless_buildkit_gets_the_classic_builder_and_says_so(tmp_path: Path) -> None:
    bench = Bench(tmp_path, info=replace(FAKE_INFO, sessionless_buildkit=False))
    assert bench.build().run.builder == "classic"
    assert "classic builder" in bench.told[0]


def test_a_builder_that_is_named_is_used(tmp_path: Path) -> None:
    assert Bench(tmp_path).build(BuildOptions(builder=Builder.CLASSIC)).run.builder == "classic"


def test_the_classic_builder_does_not_take_os_packages(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    with pytest.raises(UsageError, match="cannot add OS packages"):
        bench.build(BuildOptions(builder=Builder.CLASSIC), good_lock())
    assert not bench.asked


def test_a_missing_archive_is_found_before_the_engine_is_asked(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.stored = None
    with pytest.raises(SourceUnreachable):
        bench.build()
    assert not bench.engine.builds
