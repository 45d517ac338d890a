"""Loading into an engine that changes its mind."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest

from envbuilder.core.errors import DiskFull, EngineError, EngineLost, VerificationFailed
from envbuilder.core.json_fields import Record
from envbuilder.core.references import ImageRef
from envbuilder.image.docker.loading import load_image
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.store import Store
from tests.unit.oci.layout.images import file, image

if TYPE_CHECKING:
    from envbuilder.image.docker.api import DockerApi


@dataclass
class Daemon:
    """As much of an engine as loading sees.

    Attributes:
        images_there: Id and layers.
        answers: What it says to the next loads; when they are used up it takes what it is given.
        by_manifest: Whether it calls images by their manifest, as with the containerd store.
    """

    images_there: dict[str, tuple[str, ...]] = field(default_factory=dict)
    listed: list[Record] = field(default_factory=list)
    answers: list[str | Exception] = field(default_factory=list)
    by_manifest: bool = False
    tags: dict[str, str] = field(default_factory=dict)
    received: list[list[str]] = field(default_factory=list)
    inspected: list[str] = field(default_factory=list)

    def images(self) -> list[Record]:
        return self.listed

    def inspect_image(self, name: str) -> Record | None:
        self.inspected.append(name)
        layers = self.images_there.get(name)
        return None if layers is None else {"Id": name, "RootFS": {"Layers": list(layers)}, "RepoTags": []}

    def tag(self, image_id: str, reference: ImageRef) -> None:
        self.tags[str(reference)] = image_id

    def load(self, pieces: Iterator[bytes]) -> Iterator[Record]:
        with tarfile.open(fileobj=io.BytesIO(b"".join(pieces))) as tar:
            self.received.append(tar.getnames())
            config = self._read(tar, json.loads(self._read(tar, "manifest.json"))[0]["Config"])
            digest = json.loads(self._read(tar, "index.json"))["manifests"][0]["digest"]
            name = tar.getmember(json.loads(self._read(tar, "manifest.json"))[0]["Config"]).name
        answer = self.answers.pop(0) if self.answers else ""
        if isinstance(answer, Exception):
            raise answer
        if answer:
            yield {"errorDetail": {"message": answer}}
            return
        known = digest if self.by_manifest else name.removeprefix("blobs/").replace("/", ":")
        self.images_there[known] = tuple(json.loads(config)["rootfs"]["diff_ids"])
        yield {"stream": "Loaded image ID"}

    @staticmethod
    def _read(tar: tarfile.TarFile, name: str) -> bytes:
        content = tar.extractfile(name)
        assert content is not None
        return content.read()

    def blobs(self, load: int) -> set[str]:
        return {name.replace("blobs/sha256/", "sha256:") for name in self.received[load] if name.startswith("blobs/")}


@pytest.fixture
def made(store: Store) -> AssembledImage:
    config = {"Labels": {"io.envbuilder.environment": "tf"}}
    return image(store, *([file(f"f{number}", bytes([number]))] for number in range(3)), config=config)


def daemon_with(made: AssembledImage, layers: int, **more: object) -> Daemon:
    known = tuple(layer.diff_id for layer in made.layers[:layers])
    return Daemon(images_there={"other": known}, listed=[{"Id": "other", "Created": 1}], **more)  # type: ignore[arg-type]


def load(daemon: Daemon, made: AssembledImage, store: Store) -> tuple[int, int, int]:
    result = load_image(cast("DockerApi", daemon), made, store, ("tf:1",))
    return result.sent_bytes, result.sent_layers, result.present_layers


@pytest.mark.parametrize("by_manifest", [False, True])
@pytest.mark.parametrize("there", [0, 2, 3])
def test_only_what_is_missing_is_sent(there: int, by_manifest: bool, made: AssembledImage, store: Store) -> None:
    daemon = daemon_with(made, there, by_manifest=by_manifest)
    missing = made.layers[there:]
    assert load(daemon, made, store) == (sum(layer.blob.size for layer in missing), 3 - there, there)
    layers = {layer.blob.digest for layer in made.layers}
    assert daemon.blobs(0) & layers == {layer.blob.digest for layer in missing}
    wanted = made.manifest if by_manifest else made.config
    assert daemon.tags == {"tf:1": wanted.descriptor.digest}


def test_what_has_vanished_meanwhile_is_sent_after_all(made: AssembledImage, store: Store) -> None:
    daemon = daemon_with(made, 2, answers=["open blobs/sha256/x: no such file or directory"])
    assert load(daemon, made, store)[1:] == (3, 0)
    assert {layer.blob.digest for layer in made.layers} <= daemon.blobs(1)


def test_an_engine_that_refuses_everything_is_asked_twice_at_most(made: AssembledImage, store: Store) -> None:
    daemon = daemon_with(made, 2, answers=["no", "no, really", "yes"])
    with pytest.raises(EngineError, match="no, really"):
        load(daemon, made, store)
    alone = daemon_with(made, 0, answers=["no"])
    with pytest.raises(EngineError):
        load(alone, made, store)
    assert len(alone.received) == 1
    assert alone.tags == {}


@pytest.mark.parametrize(
    ("answer", "error"), [("write /x: no space left on device", DiskFull), (EngineLost("gone"), EngineLost)]
)
def test_what_will_not_get_better_is_not_tried_again(
    answer: str | Exception, error: type[Exception], made: AssembledImage, store: Store
) -> None:
    daemon = daemon_with(made, 1, answers=[answer])
    with pytest.raises(error):
        load(daemon, made, store)
    assert len(daemon.received) == 1


def test_an_image_that_is_not_ours_gets_no_name(made: AssembledImage, store: Store) -> None:
    class Liar(Daemon):
        def load(self, pieces: Iterator[bytes]) -> Iterator[Record]:
            yield from super().load(pieces)
            self.images_there = {made.config.descriptor.digest: ("sha256:other",)}

    liar = Liar()
    with pytest.raises(VerificationFailed, match="loaded an image other than"):
        load(liar, made, store)
    assert liar.tags == {}


def test_images_of_the_same_environment_are_looked_at_first_and_others_only_when_needed(
    made: AssembledImage, store: Store
) -> None:
    all_layers = tuple(layer.diff_id for layer in made.layers)
    listed: list[Record] = [
        {"Id": "stranger", "Created": 9},
        {"Id": "base", "Created": 8, "RepoTags": ["envbuilder/base:x"]},
        {"Id": "same", "Created": 1, "Labels": {"io.envbuilder.environment": "tf"}},
        {"Id": "newer", "Created": 2, "Labels": {"io.envbuilder.environment": "tf"}},
    ]
    there = {"stranger": (), "base": all_layers[:1], "same": all_layers, "newer": all_layers[:2]}
    daemon = Daemon(images_there=dict(there), listed=listed)
    assert load(daemon, made, store)[1:] == (0, 3)
    assert [name for name in daemon.inspected if name in there] == ["newer", "same"]
    slower = Daemon(images_there={**there, "same": ()}, listed=listed)
    assert load(slower, made, store)[1:] == (1, 2)
    assert [name for name in slower.inspected if name in there] == ["newer", "same", "base", "stranger"]
