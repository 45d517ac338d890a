"""An image goes where it is wanted, in the form that the ending of the path says."""

from __future__ import annotations

import json
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from envbuilder.core.errors import ToolMissing, UsageError, VerificationFailed
from envbuilder.core.references import ImageRef
from envbuilder.image.builder import Delivered
from envbuilder.image.container_engine import Listener
from envbuilder.image.deliver import Delivery, Destinations
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.store import Store
from envbuilder.oci.transfers import PushResult
from tests.fakes.engine import FakeEngine
from tests.unit.image.toys import no_sandbox
from tests.unit.oci.layout.images import file, image

NAMES = ("localhost:5000/env:1", "localhost:5000/env:latest")


@dataclass(kw_only=True)
class Outside:
    """An engine and a registry that remember what they got."""

    store: Store
    engine: FakeEngine = field(default_factory=FakeEngine)
    pushed: list[str] = field(default_factory=list)

    def deliver(self, made: AssembledImage, wanted: Destinations) -> Delivered:
        delivery = Delivery(store=self.store, engine=self.engine, registry=self, search_path="", sandbox=no_sandbox)
        return delivery.deliver(made, wanted, lambda _event: None)

    def push(self, image: AssembledImage, reference: ImageRef, listener: Listener) -> PushResult:  # noqa: ARG002  the port names it
        self.pushed.append(str(reference))
        return PushResult(
            reference=str(reference), digest=image.manifest.descriptor.digest, pushed_bytes=0, pushed_layers=0,
            present_layers=len(image.layers), seconds=0.0,
        )  # fmt: skip


@pytest.fixture
def outside(tmp_path: Path) -> Outside:
    return Outside(store=Store(folder=tmp_path / "store"))


@pytest.fixture
def made(outside: Outside) -> AssembledImage:
    return image(outside.store, [file("a", b"1")], [file("b", b"2")])


def test_a_plain_path_becomes_a_layout(outside: Outside, made: AssembledImage, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert outside.deliver(made, Destinations(names=("env:1",), output=out)).output == out
    assert json.loads((out / "oci-layout").read_text())["imageLayoutVersion"] == "1.0.0"
    for blob in made.blobs:
        assert (out / "blobs" / "sha256" / blob.digest.removeprefix("sha256:")).is_file()


def test_a_tar_becomes_an_archive(outside: Outside, made: AssembledImage, tmp_path: Path) -> None:
    out = tmp_path / "image.tar"
    outside.deliver(made, Destinations(names=("env:1",), output=out))
    with tarfile.open(out) as archive:
        names = set(archive.getnames())
    assert {"oci-layout", "index.json", "manifest.json"} <= names


@pytest.mark.parametrize("ending", ["sqsh", "squashfs", "sqfs"])
def test_the_endings_of_squashfs_need_its_program(
    outside: Outside, made: AssembledImage, tmp_path: Path, ending: str
) -> None:
    with pytest.raises(ToolMissing, match="mksquashfs"):
        outside.deliver(made, Destinations(names=(), output=tmp_path / f"image.{ending}"))
    assert not (tmp_path / f"image.{ending}").exists()


def test_what_lies_there_is_not_overwritten(outside: Outside, made: AssembledImage, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        outside.deliver(made, Destinations(names=("env:1",), output=tmp_path / "out"))
    assert (tmp_path / "out" / "thesis.txt").read_text() == "mine"


def test_an_engine_gets_the_image_under_all_names(outside: Outside, made: AssembledImage) -> None:
    done = outside.deliver(made, Destinations(names=NAMES, load=True))
    assert done.loaded is not None
    assert done.loaded.image.id == made.config.descriptor.digest
    for name in NAMES:
        held = outside.engine.image(name)
        assert held is not None
        assert held.id == made.config.descriptor.digest
    assert (done.output, done.pushes, outside.pushed) == (None, (), [])


def test_registries_get_every_name(outside: Outside, made: AssembledImage) -> None:
    done = outside.deliver(made, Destinations(names=NAMES, push=True))
    assert outside.pushed == list(NAMES)
    assert [push.digest for push in done.pushes] == [made.manifest.descriptor.digest] * 2


def test_without_destination_nobody_is_asked(outside: Outside, made: AssembledImage) -> None:
    assert outside.deliver(made, Destinations(names=NAMES)) == Delivered(output=None, loaded=None, pushes=())
    assert (outside.engine.images, outside.pushed) == ({}, [])


def test_a_layer_that_is_gone_goes_nowhere(outside: Outside, made: AssembledImage, tmp_path: Path) -> None:
    outside.store.remove(made.layers[0].blob.digest)
    wanted = Destinations(names=NAMES, output=tmp_path / "out", load=True, push=True)
    with pytest.raises(VerificationFailed):
        outside.deliver(made, wanted)
    assert not (tmp_path / "out").exists()
    assert (outside.engine.images, outside.pushed) == ({}, [])
