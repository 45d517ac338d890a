"""The engine that builds is the named one, or the first that can do what was asked for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

import pytest

from envbuilder.core.errors import UsageError
from envbuilder.image.builder import Engine, Feature
from envbuilder.image.layers.records import KeptImage
from envbuilder.image.running.image_runner import ImageRunner
from envbuilder.lock.lockfile import digest, dump, load
from envbuilder.oci.images import Descriptor, ImageLayerPin, ImagePin, LayerFormat
from envbuilder.wiring.engines import ENGINES, chosen_engine, path_or_reference, runner_of
from envbuilder.wiring.locks import keep_image
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import settings
from envbuilder.wiring.subjects import subject_of
from tests.fakes.catalogs import good_lock, small_catalog
from tests.fakes.engine import FakeEngine, digest_of, fake_image
from tests.unit.cli.running import CommandLine
from tests.unit.oci.layout.images import file, image


@dataclass
class Told:
    """Remembers notices."""

    lines: list[str] = field(default_factory=list)

    def __call__(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def session(envbuilder: CommandLine, told: Told) -> Session:
    envbuilder.set("DOCKER_HOST", "unix:///nowhere/docker.sock")
    return Session(settings(), small_catalog(), told)


def with_engine(session: Session, engine: FakeEngine) -> Session:
    """Put an engine that answers in place of the one that is opened when it is first needed."""
    session.__dict__["engine"] = engine
    return session


def test_every_engine_but_auto_is_registered() -> None:
    assert set(ENGINES) == set(Engine) - {Engine.AUTO}


def test_auto_takes_docker_when_it_answers(session: Session, told: Told) -> None:
    assert chosen_engine(with_engine(session, FakeEngine()), Engine.AUTO, ()) is Engine.DOCKER
    assert told.lines == []


def test_auto_assembles_when_no_engine_answers_and_says_so(session: Session, told: Told) -> None:
    assert chosen_engine(session, Engine.AUTO, ()) is Engine.ASSEMBLE
    assert told.lines == ["no container engine answers; assembling the image without one"]


@pytest.mark.parametrize("feature", Feature)
def test_a_feature_chooses_the_engine_that_supports_it_without_asking_another(
    session: Session, told: Told, feature: Feature
) -> None:
    assert chosen_engine(session, Engine.AUTO, {feature}) is Engine.ASSEMBLE
    assert told.lines == []


@pytest.mark.parametrize("features", [{Feature.LOAD}, {Feature.OUTPUT, Feature.BUNDLE}])
def test_a_named_engine_that_lacks_a_feature_is_refused(session: Session, features: Collection[Feature]) -> None:
    with pytest.raises(UsageError, match=f"does not support {', '.join(sorted(features))}") as refused:
        chosen_engine(session, Engine.DOCKER, features)
    assert refused.value.hint == "use --engine assemble"
    assert chosen_engine(session, Engine.ASSEMBLE, features) is Engine.ASSEMBLE


def test_an_image_is_run_by_the_engine_that_has_it(session: Session, told: Told) -> None:
    made = image(session.store, [file("a", b"b")])
    session.records.keep_image(KeptImage(name="kept:1", image=made, lock=digest(good_lock())))
    engine = FakeEngine(images={"held:1": fake_image("held")})
    assert isinstance(runner_of(session, "kept:1", Engine.AUTO), ImageRunner)
    assert told.lines == ["no container engine answers; looking among the assembled images"]

    with_engine(session, engine)
    assert isinstance(runner_of(session, "kept:1", Engine.AUTO), ImageRunner)
    assert runner_of(session, "held:1", Engine.AUTO) is engine
    assert runner_of(session, "neither:1", Engine.AUTO) is engine
    assert isinstance(runner_of(session, "held:1", Engine.ASSEMBLE), ImageRunner)


def test_a_lock_means_the_image_that_was_built_from_it_and_any_other_path_itself(
    session: Session, envbuilder: CommandLine
) -> None:
    lock = replace(good_lock(), name="vision")
    made = image(session.store, [file("a", b"b")])
    session.records.keep_image(KeptImage(name="envbuilder/vision:latest", image=made, lock=digest(lock)))
    path = envbuilder.folder / "envbuilder.lock"
    path.write_text(dump(lock), encoding="utf-8")
    archive = envbuilder.folder / "image.tar"
    archive.touch()
    assert path_or_reference(session, str(path), Engine.AUTO) == "envbuilder/vision:latest"
    assert path_or_reference(session, "vision", Engine.AUTO) == "envbuilder/vision:latest"
    assert path_or_reference(session, str(archive), Engine.AUTO) == str(archive)
    assert subject_of(session, str(path), "", Engine.AUTO).name == "envbuilder/vision:latest"


def test_a_lock_of_the_cache_gets_the_image_that_it_became_and_other_directories_stay(
    session: Session,
) -> None:
    pin = ImageLayerPin(
        id="base",
        key=digest_of("key"),
        diff_id=digest_of("diff"),
        blob=Descriptor(media_type=LayerFormat.TAR.media_type, digest=digest_of("blob"), size=1),
    )
    image = ImagePin(format=LayerFormat.TAR, manifest=digest_of("m"), config=digest_of("c"), layers=(pin,))
    bare, made = replace(good_lock(), image=None), replace(good_lock(), image=image)
    names = (bare.environment, f"{bare.environment}@debian-bookworm", f"{bare.environment}1")
    files = [session.settings.use("locks") / name / "envbuilder.lock" for name in names]
    for path in files:
        path.parent.mkdir(parents=True)
        path.write_text(dump(bare), encoding="utf-8")
    keep_image(session, made)
    assert [load(path.read_text(encoding="utf-8"), str(path)).image for path in files] == [image, image, None]


def test_options_that_only_one_engine_has_are_refused_for_another(envbuilder: CommandLine) -> None:
    ended = envbuilder("build", "tf-2.15-cpu", "--engine", "docker", "--load", "--offline")
    assert ended.status == 2
    assert "the engine docker does not support --load, --offline" in ended.stderr
