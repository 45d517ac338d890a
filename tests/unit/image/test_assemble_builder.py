"""The engine `assemble` behind the port: names, records, destinations, and locks with the digests of their images."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envbuilder.core.errors import SourceUnreachable
from envbuilder.image.assemble_builder import AssembleBuilder
from envbuilder.image.builder import BuildOptions, BuiltImage, ImageRequest
from envbuilder.image.builds import BuildEvent, StepFinished, StepStarted
from envbuilder.image.deliver import Delivery
from envbuilder.image.layers.ports import AssemblyContext, LayerCache, NoLayerCache
from envbuilder.image.layers.records import LayerRecord, Records
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest
from envbuilder.oci.images import ImageLayerPin
from envbuilder.oci.store import Store
from tests.fakes.engine import FakeEngine
from tests.fakes.registries import FakeRegistry
from tests.unit.image.toys import World, no_sandbox


class Bench:
    """A machine whose store begins empty."""

    def __init__(self, folder: Path) -> None:
        self.world = World(folder=folder)
        self.store = Store(folder=folder / "here" / "store")
        self.records = Records(store=self.store)
        self.registry = FakeRegistry(store=self.store)
        self.asked: list[tuple[Sources, BuildOptions, tuple[str, ...]]] = []
        self.cache: LayerCache = NoLayerCache()
        self.kept: list[Lock] = []

    def context(self, sources: Sources, options: BuildOptions, names: Sequence[str]) -> AssemblyContext:
        self.asked.append((sources, options, tuple(names)))
        return replace(self.world.ports("here"), cache=self.cache)

    def builder(self) -> AssembleBuilder:
        delivery = Delivery(
            store=self.store, engine=FakeEngine(), registry=self.registry, search_path="", sandbox=no_sandbox
        )
        return AssembleBuilder(
            context=self.context, delivery=delivery, records=self.records, keep_lock=self.kept.append
        )


def request(lock: Lock, *names: str, sources: Sources | None = None) -> ImageRequest:
    return ImageRequest(lock=lock, sources=sources or Sources(), names=names)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_an_image_is_in_the_store_under_all_its_names_with_its_lock(bench: Bench) -> None:
    lock = bench.world.lock()
    [image] = bench.builder().build([request(lock, "a:1", "a:2")], BuildOptions(), lambda _event: None)
    for name in ("a:1", "a:2"):
        kept = bench.records.image(name)
        assert kept is not None
        assert kept.lock == digest(lock)
        assert kept.image.manifest.descriptor.digest == image.manifest
    assert image.names == ("a:1", "a:2")
    assert image.size == sum(layer.size for layer in image.layers)
    assert all(layer.made for layer in image.layers)
    assert image.run.downloaded == sum(pin.size for pin in lock.packages)


def test_the_lock_with_the_digests_of_the_image_is_given_back_and_kept(bench: Bench) -> None:
    [image] = bench.builder().build([request(bench.world.lock(), "a:1")], BuildOptions(), lambda _event: None)
    assert image.lock.image is not None
    assert image.lock.image.manifest == image.manifest
    assert bench.kept == [image.lock]


def test_a_lock_with_digests_that_only_a_layer_cache_states_is_not_kept(bench: Bench) -> None:
    [first] = bench.builder().build([request(bench.world.lock(), "a:1")], BuildOptions(), lambda _event: None)
    records = {layer.key: bench.records.layer(layer.key) for layer in pinned_layers(first)}
    bench.kept.clear()
    for path in (bench.store.folder / "layers").iterdir():
        path.unlink()
    bench.cache = Statements({key: record for key, record in records.items() if record})
    [again] = bench.builder().build([request(bench.world.lock(), "a:1")], BuildOptions(), lambda _event: None)
    assert (again.manifest, bench.kept) == (first.manifest, [])


class Statements(NoLayerCache):
    """A layer cache that knows layers, and gives none."""

    def __init__(self, records: dict[str, LayerRecord]) -> None:
        self.records = records

    def find(self, keys: Sequence[str]) -> dict[str, LayerRecord]:
        return {key: self.records[key] for key in keys if key in self.records}


def pinned_layers(image: BuiltImage) -> tuple[ImageLayerPin, ...]:
    assert image.lock.image is not None
    return image.lock.image.layers


def test_images_with_the_same_sources_share_a_run_and_come_in_their_order(bench: Bench) -> None:
    mirror = Sources(index="https://mirror.example/simple")
    locks = [bench.world.lock(bench.world.own(each.encode(), f"own-{each}")) for each in "abc"]
    requests = [
        request(locks[0], "a:1"),
        request(locks[1], "b:1", sources=mirror),
        request(locks[2], "c:1"),
    ]
    options = BuildOptions(jobs=2, offline=True)
    images = bench.builder().build(requests, options, lambda _event: None)
    assert [image.names[0] for image in images] == ["a:1", "b:1", "c:1"]
    assert images[0].run == images[2].run
    assert images[0].run != images[1].run
    assert bench.asked == [(Sources(), options, ("a:1", "c:1")), (mirror, options, ("b:1",))]
    assert [layer.id for layer in images[1].layers if layer.made] == ["own", "image"]


def test_an_image_goes_where_its_options_say(bench: Bench, tmp_path: Path) -> None:
    options = BuildOptions(output=tmp_path / "layout", load=True, push=True)
    name = "localhost:5000/a:1"
    [image] = bench.builder().build([request(bench.world.lock(), name)], options, lambda _event: None)
    assert image.delivered.output == tmp_path / "layout"
    assert image.delivered.loaded is not None
    assert [push.digest for push in image.delivered.pushes] == [image.manifest]


NAME = "localhost:5000/a:1"


def pushed(bench: Bench, lock: Lock, **options: Any) -> BuiltImage:  # noqa: ANN401  fields of the options
    [image] = bench.builder().build([request(lock, NAME)], BuildOptions(push=True, **options), lambda _event: None)
    return image


def emptied(bench: Bench) -> None:
    """Another machine: its cache begins empty."""
    bench.world.forget("here")
    bench.world.fetched.clear()
    bench.world.opened.clear()
    bench.registry.sent.clear()


def test_what_the_registry_holds_is_neither_fetched_nor_made(bench: Bench) -> None:
    first = pushed(bench, bench.world.lock())
    emptied(bench)
    again = pushed(bench, first.lock)
    assert (again.manifest, bench.registry.tags[NAME]) == (first.manifest, first.manifest)
    assert (bench.registry.sent, bench.world.fetched, bench.world.opened) == ([], [], [])
    assert not any(layer.made for layer in again.layers)
    assert again.run.downloaded == 0
    assert (first.is_here, again.is_here) == (True, False)


def test_only_the_layers_that_the_registry_lacks_are_made(bench: Bench) -> None:
    first = pushed(bench, bench.world.lock())
    lost = {layer.id: layer.digest for layer in first.layers if layer.id in {"own", "packages"}}
    emptied(bench)
    bench.registry.blobs -= set(lost.values())
    again = pushed(bench, first.lock)
    assert [layer.id for layer in again.layers if layer.made] == ["packages", "own"]
    assert sorted(bench.registry.sent) == ["own", "packages"]
    assert again.manifest == first.manifest
    assert set(lost.values()) <= bench.registry.blobs


@pytest.mark.parametrize("options", [{"load": True}, {"output": Path("layout")}])
def test_layers_that_are_needed_here_too_are_made(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, object]
) -> None:
    monkeypatch.chdir(tmp_path)
    first = pushed(bench, bench.world.lock())
    emptied(bench)
    again = pushed(bench, first.lock, **options)
    assert all(layer.made for layer in again.layers)
    assert bench.registry.sent == []


def test_an_image_whose_layers_are_only_in_the_registry_is_not_recorded_here(bench: Bench) -> None:
    first = pushed(bench, bench.world.lock())
    emptied(bench)
    other = pushed(bench, bench.world.lock(bench.world.own(b"other")))
    assert bench.records.image(NAME)
    pushed(bench, first.lock)
    assert bench.records.image(NAME) is None
    assert other.manifest != first.manifest


def test_each_layer_is_sent_before_all_are_made(bench: Bench) -> None:
    """The base is sent while the index does not give the own package yet."""
    is_sent = threading.Event()
    bench.registry.on_send = lambda item: is_sent.set() if item == "base" else None
    bench.world.before_fetch["six-1.0-py3-none-any.whl"] = lambda: require(is_sent.wait(30))
    image = pushed(bench, bench.world.lock())
    assert bench.registry.tags == {NAME: image.manifest}
    assert bench.registry.blobs == {layer.digest for layer in image.layers}


def require(condition: object) -> None:
    assert condition


def test_a_refused_upload_ends_the_build_and_nothing_is_tagged(bench: Bench) -> None:
    bench.registry.refused = "packages"
    with pytest.raises(SourceUnreachable, match="packages is refused"):
        pushed(bench, bench.world.lock())
    assert (bench.registry.tags, bench.registry.stopped) == ({}, True)
    assert not list(bench.records.images())


def test_an_interrupted_build_tags_nothing_stops_its_uploads_and_begins_no_further_layer(bench: Bench) -> None:
    interrupted, stopped = threading.Event(), threading.Event()
    bench.registry.on_stop = stopped.set
    begun: list[str] = []

    def listen(event: BuildEvent) -> None:
        if isinstance(event, StepStarted):
            begun.append(event.step)
            require(not interrupted.is_set() or stopped.wait(30))
        if isinstance(event, StepFinished):
            interrupted.set()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bench.builder().build([request(bench.world.lock(), NAME)], BuildOptions(push=True), listen)
    assert (bench.registry.tags, bench.registry.stopped) == ({}, True)
    # The downloads, two layers at once, and one on each of the two threads that began before the interruption was seen.
    assert len(begun) <= 5
