"""A registry image is pinned by the digest of the engine, of the registry or of whom is asked without an engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envbuilder.catalog.environments import BaseKind, BaseSystem
from envbuilder.core.errors import EngineUnavailable, SourceUnreachable, VerificationFailed
from envbuilder.core.references import ImageRef
from envbuilder.image.builds import ImageInfo
from envbuilder.image.docker.registry_bases import RegistryBases, fetch_base
from envbuilder.lock.base_choice import Refused
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import BasePin
from tests.fakes.catalogs import small_row
from tests.fakes.engine import FakeEngine, digest_of, fake_image

MIRROR = "localhost:5000"
MIRRORED = Sources(registry_mirror=MIRROR)
CUDA = fake_image("cuda")
[SYSTEM] = [choice.system for choice in small_row("tf-2.4-cuda11.0").bases if choice.system.kind is BaseKind.IMAGE]
UNPINNED = replace(SYSTEM, digest="")


def never(reference: ImageRef) -> str:
    raise AssertionError(f"nobody but the engine is asked for {reference}")


def located(engine: FakeEngine, system: BaseSystem = UNPINNED, sources: Sources | None = None) -> BasePin | Refused:
    return RegistryBases(engine=engine, ask=never).locate(system, sources or Sources())


def pin_of(digest: str) -> BasePin:
    return BasePin(id=SYSTEM.id, kind=BaseKind.IMAGE, image=SYSTEM.image, digest=digest)


def test_an_image_that_the_engine_has_pulled_keeps_its_digest_while_the_registry_is_away() -> None:
    engine = FakeEngine(published={SYSTEM.image: CUDA})
    engine.pull(ImageRef.parse(SYSTEM.image), lambda _: None)
    digest = engine.registry_digest(ImageRef.parse(SYSTEM.image))
    engine.published.clear()
    assert located(engine) == pin_of(digest)


def test_an_image_that_was_built_here_has_no_digest_and_the_registry_is_asked() -> None:
    engine = FakeEngine(images={SYSTEM.image: fake_image("built here")}, published={SYSTEM.image: CUDA})
    assert located(engine) == pin_of(digest_of("manifest", CUDA.id))


def test_a_mirror_is_asked_in_place_of_the_registry_and_the_pin_keeps_the_name_of_the_registry() -> None:
    mirrored = str(ImageRef.parse(SYSTEM.image).at_registry(MIRROR))
    engine = FakeEngine(published={mirrored: CUDA})
    assert located(engine, sources=MIRRORED) == pin_of(digest_of("manifest", CUDA.id))


def test_the_digest_of_the_catalog_is_wanted_and_not_what_the_tag_has_become() -> None:
    engine = FakeEngine(published={SYSTEM.image: fake_image("newer")})
    refused = located(engine, replace(SYSTEM, digest=digest_of("manifest", CUDA.id)))
    assert isinstance(refused, Refused)
    assert (refused.base, refused.hint) == (SYSTEM.id, "push it first")


def test_a_registry_that_does_not_answer_is_a_refusal_with_its_hint() -> None:
    refused = located(FakeEngine())
    assert isinstance(refused, Refused)
    assert "does not answer" in refused.reason
    assert refused.hint == "start it"


class NoEngine(FakeEngine):
    """An engine that does not answer."""

    def image(self, reference: str) -> ImageInfo | None:
        raise EngineUnavailable(f"no container engine answers about {reference}", hint="start one")


@pytest.mark.parametrize(("sources", "registry"), [(Sources(), ""), (MIRRORED, MIRROR)])
def test_without_an_engine_the_registry_is_asked_directly(sources: Sources, registry: str) -> None:
    asked: list[ImageRef] = []

    def ask(reference: ImageRef) -> str:
        asked.append(reference)
        return digest_of("of the registry")

    found = RegistryBases(engine=NoEngine(), ask=ask).locate(UNPINNED, sources)
    assert found == pin_of(digest_of("of the registry"))
    wanted = ImageRef.parse(SYSTEM.image)
    assert asked == [wanted.at_registry(registry) if registry else wanted]


def test_a_mirror_of_this_host_gives_way_to_that_of_the_sources() -> None:
    asked: list[ImageRef] = []

    def ask(reference: ImageRef) -> str:
        asked.append(reference)
        return digest_of("of the registry")

    bases = RegistryBases(engine=NoEngine(), ask=ask, mirror="mirror.example")
    for sources in (Sources(), MIRRORED):
        bases.locate(UNPINNED, sources)
    wanted = ImageRef.parse(SYSTEM.image)
    assert asked == [wanted.at_registry("mirror.example"), wanted.at_registry(MIRROR)]


TREE = BasePin(id="debian-new", kind=BaseKind.DEBIAN, image="", digest=digest_of("layer", "tree"))
NAME = ImageRef.parse("envbuilder/debian-new:1")


def fetched(engine: FakeEngine, mirror: str = "", *, layers: int = 1) -> str:
    return fetch_base(engine, TREE, NAME, mirror, lambda _: None, layers=layers)


def test_a_tree_of_the_engine_is_taken_without_its_registry() -> None:
    assert fetched(FakeEngine(images={str(NAME): fake_image("tree")}), MIRROR) == str(NAME)


def test_a_tree_of_a_mirror_is_pulled_once_and_keeps_the_name_of_the_mirror() -> None:
    name = str(NAME.at_registry(MIRROR))
    engine = FakeEngine(published={name: fake_image("tree")})
    assert fetched(engine, MIRROR) == name
    engine.published.clear()
    assert fetched(engine, MIRROR) == name


def test_another_tree_under_the_name_is_refused_with_the_command_that_removes_it() -> None:
    with pytest.raises(VerificationFailed, match="is not the base of the lock") as refused:
        fetched(FakeEngine(images={str(NAME): fake_image("another")}))
    assert f"docker image rm {NAME}" in refused.value.hint


def test_a_tree_without_the_layer_of_the_os_packages_is_refused() -> None:
    with pytest.raises(VerificationFailed, match="is not the base of the lock"):
        fetched(FakeEngine(images={str(NAME): fake_image("tree")}), layers=2)


def test_a_tree_that_nobody_has_is_unreachable() -> None:
    with pytest.raises(SourceUnreachable, match="does not answer"):
        fetched(FakeEngine())
