"""The engine `assemble` behind the port: names, records, destinations, and locks with the digests of their images."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.core.references import ImageRef
from envbuilder.image.assemble_builder import AssembleBuilder
from envbuilder.image.builder import BuildOptions, ImageRequest
from envbuilder.image.container_engine import Listener
from envbuilder.image.deliver import Delivery
from envbuilder.image.layers.ports import AssemblyContext
from envbuilder.image.layers.records import Records
from envbuilder.lock.lock import Lock
from envbuilder.lock.lockfile import digest
from envbuilder.lock.spec_values import Sources
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import PushResult
from tests.fakes.engine import FakeEngine
from tests.unit.image.toys import World, no_sandbox


class Bench:
    """A machine whose store begins empty."""

    def __init__(self, folder: Path) -> None:
        self.world = World(folder=folder)
        self.store = Store(folder=folder / "here" / "store")
        self.records = Records(store=self.store)
        self.asked: list[tuple[Sources, int, bool]] = []
        self.kept: list[Lock] = []

    def context(self, sources: Sources, *, jobs: int, offline: bool) -> AssemblyContext:
        self.asked.append((sources, jobs, offline))
        return self.world.ports("here")

    def builder(self) -> AssembleBuilder:
        delivery = Delivery(
            store=self.store, engine=FakeEngine(), registry=_Registry(), search_path="", sandbox=no_sandbox
        )
        return AssembleBuilder(
            context=self.context, delivery=delivery, records=self.records, keep_lock=self.kept.append
        )


class _Registry:
    """The `ImageRegistry` that takes everything."""

    def push(self, image: AssembledImage, reference: ImageRef, listener: Listener) -> PushResult:  # noqa: ARG002  the port names it
        return PushResult(
            reference=str(reference), digest=image.manifest.descriptor.digest, pushed_bytes=0, pushed_layers=0,
            present_layers=0, seconds=0.0,
        )  # fmt: skip


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


def test_images_with_the_same_sources_share_a_run_and_come_in_their_order(bench: Bench) -> None:
    mirror = Sources(index="https://mirror.example/simple")
    locks = [bench.world.lock(bench.world.own(each.encode(), f"own-{each}")) for each in "abc"]
    requests = [
        request(locks[0], "a:1"),
        request(locks[1], "b:1", sources=mirror),
        request(locks[2], "c:1"),
    ]
    images = bench.builder().build(requests, BuildOptions(jobs=2, offline=True), lambda _event: None)
    assert [image.names[0] for image in images] == ["a:1", "b:1", "c:1"]
    assert images[0].run == images[2].run
    assert images[0].run != images[1].run
    assert bench.asked == [(Sources(), 2, True), (mirror, 2, True)]
    assert [layer.id for layer in images[1].layers if layer.made] == ["own", "image"]


def test_an_image_goes_where_its_options_say(bench: Bench, tmp_path: Path) -> None:
    options = BuildOptions(output=tmp_path / "layout", load=True, push=True)
    name = "localhost:5000/a:1"
    [image] = bench.builder().build([request(bench.world.lock(), name)], options, lambda _event: None)
    assert image.delivered.output == tmp_path / "layout"
    assert image.delivered.loaded is not None
    assert [push.digest for push in image.delivered.pushes] == [image.manifest]
