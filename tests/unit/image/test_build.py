"""A lock becomes an image by a build that names nothing but the lock's ingredients."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import BuildFailed, SourceUnreachable, UsageError
from envbuilder.image.build import BuildOptions, BuildPorts, build, default_tags
from envbuilder.image.builds import Builder, BuildEvent, BuildResult, EngineInfo
from envbuilder.image.plan.layers import plan
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest
from tests.fakes.catalogs import good_lock
from tests.fakes.engine import FAKE_INFO, FakeEngine, fake_image

LOCK = replace(good_lock(), os_packages=())
BASE = plan(LOCK, digest(LOCK)).base
_PLAIN = "FROM {{ plan.base }}\nLABEL io.envbuilder.environment={{ lock.environment }}\n"


class Bench:
    """An engine that holds the base, templates that the fake engine understands, and a store with one file."""

    def __init__(self, folder: Path, *, info: EngineInfo = FAKE_INFO, step: str = "echo done") -> None:
        self.engine = FakeEngine(images={BASE: fake_image("base")}, info=info)
        self.told: list[str] = []
        self.events: list[BuildEvent] = []
        self.asked: list[Lock] = []
        self.work = folder / "work"
        self.stored: Path | None = folder / "stored"
        (folder / "stored").write_bytes(b"content")
        self._templates = folder / "templates"
        self._templates.mkdir()
        for name in ("Dockerfile", "Dockerfile.classic", "with-host", "host-README"):
            (self._templates / f"{name}.j2").write_text(f"{_PLAIN}RUN {step}\n", encoding="utf-8")

    def provide(self, lock: Lock) -> str:
        self.asked.append(lock)
        return BASE

    def build(self, options: BuildOptions | None = None, lock: Lock = LOCK) -> BuildResult:
        ports = BuildPorts(
            engine=self.engine,
            provide_base=self.provide,
            find_file=lambda _: self.stored,
            templates=self._templates,
            work=self.work,
            notice=self.told.append,
        )
        return build(lock, options or BuildOptions(), ports, self.events.append)


def test_an_image_is_built_on_the_base_of_the_lock_with_its_tags(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    result = bench.build()
    assert sorted(result.image.tags) == sorted(default_tags(LOCK))
    assert result.image.label("io.envbuilder.environment") == LOCK.environment
    assert bench.asked == [LOCK]
    assert bench.events


def test_the_base_and_proxies_are_build_arguments(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.build(BuildOptions(proxies=(("http_proxy", "http://proxy.example"),), use_cache=False))
    (request,) = bench.engine.builds
    assert request.args == (("BASE", BASE), ("http_proxy", "http://proxy.example"))
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
    assert bench.engine.image(default_tags(LOCK)[0]) is None


def test_tags_that_are_named_replace_the_default_ones(tmp_path: Path) -> None:
    assert Bench(tmp_path).build(BuildOptions(tags=("team/tf:1",))).image.tags == ("team/tf:1",)


def test_the_default_tags_name_the_environment_and_the_lock() -> None:
    latest, exact = default_tags(LOCK)
    assert latest == "envbuilder/tf-2.4-cuda11.0:latest"
    assert exact == f"envbuilder/tf-2.4-cuda11.0:{digest(LOCK)[7:19]}"


def test_a_lock_with_a_name_does_not_take_the_tags_of_its_environment() -> None:
    assert default_tags(replace(LOCK, name="vision")) == (
        "envbuilder/vision:latest",
        f"envbuilder/vision:{digest(LOCK)[7:19]}",
    )


def test_an_engine_without_sessionless_buildkit_gets_the_classic_builder_and_says_so(tmp_path: Path) -> None:
    bench = Bench(tmp_path, info=replace(FAKE_INFO, sessionless_buildkit=False))
    assert bench.build().builder is Builder.CLASSIC
    assert "classic builder" in bench.told[0]


def test_a_builder_that_is_named_is_used(tmp_path: Path) -> None:
    assert Bench(tmp_path).build(BuildOptions(builder=Builder.CLASSIC)).builder is Builder.CLASSIC


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
