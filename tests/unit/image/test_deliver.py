"""An image goes where it is wanted, in the form that the ending of the path says."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from envbuilder.core.errors import ToolMissing, UsageError, VerificationFailed
from envbuilder.image.builder import BuildOptions, Delivered
from envbuilder.image.deliver import Delivery
from envbuilder.lock.ingredient_sources import Sources
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.store import Store
from tests.fakes.engine import FakeEngine
from tests.fakes.registries import FakeRegistry
from tests.unit.image.toys import no_sandbox
from tests.unit.oci.layout.images import file, image

NAMES = ("localhost:5000/env:1", "localhost:5000/env:latest")


class Outside:
    """An engine and a registry that remember what they got."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.engine = FakeEngine()
        self.registry = FakeRegistry(store=store)

    def deliver(
        self, made: AssembledImage, names: tuple[str, ...], options: BuildOptions, push: tuple[str, ...] = ()
    ) -> Delivered:
        delivery = Delivery(
            store=self.store, engine=self.engine, registry=self.registry, search_path="", sandbox=no_sandbox
        )
        with self.registry.pushes(push, Sources(), lambda _event: None) as pushes:
            return delivery.deliver(made, names, options, pushes, epoch=0)


@pytest.fixture
def outside(tmp_path: Path) -> Outside:
    return Outside(store=Store(folder=tmp_path / "store"))


@pytest.fixture
def made(outside: Outside) -> AssembledImage:
    return image(outside.store, [file("a", b"1")], [file("b", b"2")])


def test_a_plain_path_becomes_a_layout(outside: Outside, made: AssembledImage, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert outside.deliver(made, ("env:1",), BuildOptions(output=out)).output == out
    assert json.loads((out / "oci-layout").read_text())["imageLayoutVersion"] == "1.0.0"
    for blob in made.blobs:
        assert (out / "blobs" / "sha256" / blob.digest.removeprefix("sha256:")).is_file()


def test_a_tar_becomes_an_archive(outside: Outside, made: AssembledImage, tmp_path: Path) -> None:
    out = tmp_path / "image.tar"
    outside.deliver(made, ("env:1",), BuildOptions(output=out))
    with tarfile.open(out) as archive:
        names = set(archive.getnames())
    assert {"oci-layout", "index.json", "manifest.json"} <= names


@pytest.mark.parametrize("ending", ["sqsh", "squashfs", "sqfs"])
def test_the_endings_of_squashfs_need_its_program(
    outside: Outside, made: AssembledImage, tmp_path: Path, ending: str
) -> None:
    with pytest.raises(ToolMissing, match="mksquashfs"):
        outside.deliver(made, (), BuildOptions(output=tmp_path / f"image.{ending}"))
    assert not (tmp_path / f"image.{ending}").exists()


def test_what_lies_there_is_not_overwritten(outside: Outside, made: AssembledImage, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        outside.deliver(made, ("env:1",), BuildOptions(output=tmp_path / "out"))
    assert (tmp_path / "out" / "thesis.txt").read_text() == "mine"


def test_an_engine_gets_the_image_under_all_names(outside: Outside, made: AssembledImage) -> None:
    done = outside.deliver(made, NAMES, BuildOptions(load=True))
    assert done.loaded is not None
    assert done.loaded.image.id == made.config.descriptor.digest
    for name in NAMES:
        held = outside.engine.image(name)
        assert held is not None
        assert held.id == made.config.descriptor.digest
    assert (done.output, done.pushes, outside.registry.tags) == (None, (), {})


def test_registries_get_every_name(outside: Outside, made: AssembledImage) -> None:
    done = outside.deliver(made, NAMES, BuildOptions(), push=NAMES)
    assert tuple(outside.registry.tags) == NAMES
    assert [push.digest for push in done.pushes] == [made.manifest.descriptor.digest] * 2


def test_without_destination_nobody_is_asked(outside: Outside, made: AssembledImage) -> None:
    assert outside.deliver(made, NAMES, BuildOptions()) == Delivered(output=None, loaded=None, pushes=())
    assert (outside.engine.images, outside.registry.tags) == ({}, {})


def test_a_layer_that_is_gone_goes_nowhere(outside: Outside, made: AssembledImage, tmp_path: Path) -> None:
    outside.store.remove(made.layers[0].blob.digest)
    wanted = BuildOptions(output=tmp_path / "out", load=True)
    with pytest.raises(VerificationFailed):
        outside.deliver(made, NAMES, wanted, push=NAMES)
    assert not (tmp_path / "out").exists()
    assert (outside.engine.images, outside.registry.tags) == ({}, {})
