"""Layer caches of the command line or the spec come before that of the environment; an offline build reads none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envbuilder.core.errors import UsageError
from envbuilder.image.layers.layer_writer import Packed
from envbuilder.image.layers.ports import NoLayerCache
from envbuilder.image.layers.registry_cache import RegistryCacheWriter, RegistryLayerCache
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.oci.images import ImageLayerPin, ImagePin, LayerFormat
from envbuilder.wiring.configuration import LAYER_CACHE
from envbuilder.wiring.layer_caches import caches_to_read, caches_to_use, holds_base, layer_cache
from envbuilder.wiring.session import Session
from envbuilder.wiring.settings import settings
from tests.fakes.catalogs import good_lock, small_catalog
from tests.unit.cli.running import CommandLine
from tests.unit.oci.registry.faulty import serving, sha256

NAMED = Sources(layer_caches=("named.example/layers",))


def session(envbuilder: CommandLine, value: str = "") -> Session:
    envbuilder.set(LAYER_CACHE.variable, value)
    return Session(settings(), small_catalog(), lambda _: None)


def test_what_is_named_comes_before_the_variable(envbuilder: CommandLine) -> None:
    here = session(envbuilder, "a.example/x  b.example/y").settings
    assert caches_to_read(here, NAMED) == ("named.example/layers",)
    assert caches_to_read(here, Sources()) == ("a.example/x", "b.example/y")


def test_a_variable_that_names_no_repository_is_refused(envbuilder: CommandLine) -> None:
    with pytest.raises(UsageError, match="ENVBUILDER_LAYER_CACHE: 'nonsense' is not a repository"):
        caches_to_read(session(envbuilder, "nonsense").settings, Sources())


def test_without_a_place_there_is_no_cache_and_offline_none_is_read(envbuilder: CommandLine) -> None:
    assert isinstance(layer_cache(session(envbuilder), Sources()), NoLayerCache)
    assert isinstance(caches_to_use(session(envbuilder), NAMED, offline=True)[0], NoLayerCache)
    cache, written = caches_to_use(session(envbuilder), NAMED, write="a.example/x", offline=True)
    assert isinstance(cache, RegistryLayerCache)
    assert isinstance(written, RegistryCacheWriter)
    assert (cache.read, str(written.write)) == ([], "a.example/x:latest")


def test_layers_are_mounted_from_where_the_image_is_pushed_in_the_same_run(envbuilder: CommandLine) -> None:
    here = session(envbuilder)
    here.records.keep_push("a.example/before")
    _, written = caches_to_use(here, NAMED, write="a.example/x", pushed=["a.example/team/tf:1", "a.example/team/tf:2"])
    assert isinstance(written, RegistryCacheWriter)
    assert str(written.write) == "a.example/x:latest"
    assert written.mount_from == ("named.example/layers", "a.example/team/tf", "a.example/before")


def with_base(digest: str, *, image: bool = True) -> Lock:
    """A lock whose image has one layer: the tree of its base."""
    lock = good_lock()
    blob = Packed(digest=digest, size=4, diff_id=lock.base.digest).blob(LayerFormat.GZIP_SPLICED)
    layer = ImageLayerPin(id="base", key=lock.base.digest, diff_id=lock.base.digest, blob=blob)
    pin = ImagePin(format=LayerFormat.GZIP_SPLICED, manifest=digest, config=digest, layers=(layer,))
    return replace(lock, image=pin if image else None)


def test_the_base_of_a_lock_is_held_if_a_named_cache_has_the_layer_of_its_tree(envbuilder: CommandLine) -> None:
    here = session(envbuilder)
    held, other = with_base(sha256(b"tree")), with_base(sha256(b"another"))
    with serving() as registry:
        registry.blobs["layers", sha256(b"tree")] = b"tree"
        named = Sources(layer_caches=(f"{registry.host}/layers",))
        assert holds_base(here, named, held)
        assert not holds_base(here, named, other)
        assert not holds_base(here, named, with_base(sha256(b"tree"), image=False))
        moved = replace(held, base=replace(held.base, digest=sha256(b"another")))
        assert not holds_base(here, named, moved)
    assert not holds_base(here, Sources(), held)
