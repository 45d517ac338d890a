"""What is in a store is known without reading it, and what an image needs is never removed."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.assembling.packing import Packed
from envbuilder.assembling.records import KeptImage, LayerRecord, Records
from envbuilder.model.images import AssembledImage
from envbuilder.store import Store
from envbuilder.workflows.keep import prune, usage
from tests.unit.delivering.images import file, image

LOCK = "sha256:" + "ab" * 32
SHARED = [file("shared", b"shared" * 99)]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(folder=tmp_path / "store")


@pytest.fixture
def records(store: Store) -> Records:
    return Records(store=store)


def kept(records: Records, name: str, *contents: bytes, bill: bytes = b"") -> AssembledImage:
    """An image of one shared layer and its own ones, under a name."""
    made = image(records.store, SHARED, *([file("own", content)] for content in contents), bill=bill)
    for layer in made.layers:
        packed = Packed(digest=layer.blob.digest, size=layer.blob.size, diff_id=layer.diff_id)
        records.keep_layer(layer.key, LayerRecord(packed=packed))
    records.keep_image(KeptImage(name=name, image=made, lock=LOCK))
    return made


def digests(made: AssembledImage) -> set[str]:
    documents = {each.descriptor.digest for pair in made.attached for each in pair}
    return {made.manifest.descriptor.digest, *(blob.digest for blob in made.blobs), *documents}


def total(store: Store, wanted: set[str]) -> int:
    return sum(size for digest, size, _ in store.entries() if digest in wanted)


def test_an_image_has_bytes_and_would_free_only_its_own(store: Store, records: Records) -> None:
    one, two = kept(records, "env:1", b"one"), kept(records, "env:2", b"two" * 50)
    found = usage(store, records)
    assert [row[0].name for row in found.images] == ["env:1", "env:2"]
    assert [row[1] for row in found.images] == [total(store, digests(one)), total(store, digests(two))]
    assert found.images[0][2] == total(store, digests(one) - digests(two))
    assert found.images[1][2] == total(store, digests(two) - digests(one))
    assert found.layers == total(store, digests(one) | digests(two))


def test_two_names_of_one_image_would_free_nothing(store: Store, records: Records) -> None:
    kept(records, "env:1", b"one")
    kept(records, "env:latest", b"one")
    assert [row[2] for row in usage(store, records).images] == [0, 0]


def test_layers_without_image_and_downloads_are_told_apart(store: Store, records: Records) -> None:
    one = kept(records, "env:1", b"one")
    gone = kept(records, "env:2", b"gone" * 9)
    records.forget_image("env:2")
    store.put(b"a wheel")
    found = usage(store, records)
    loose = gone.layers[1].blob
    assert found.layers == total(store, digests(one))
    assert found.loose == loose.size
    documents = {gone.config.descriptor.digest, gone.manifest.descriptor.digest}
    assert found.files == len(b"a wheel") + total(store, documents)
    assert found.layers + found.loose + found.files == sum(size for _, size, _ in store.entries())


def test_an_empty_store_holds_nothing(store: Store, records: Records) -> None:
    found = usage(store, records)
    assert (found.images, found.layers, found.loose, found.files) == ((), 0, 0, 0)
    assert prune(store, records, everything=True) == 0


def test_what_an_image_needs_stays(store: Store, records: Records) -> None:
    one = kept(records, "env:1", b"one", bill=b"a bill")
    kept(records, "env:2", b"two")
    records.forget_image("env:2")
    store.put(b"a wheel")
    before = sum(size for _, size, _ in store.entries())
    freed = prune(store, records, everything=False)
    left = {digest: size for digest, size, _ in store.entries()}
    assert left.keys() == digests(one)
    assert freed == before - sum(left.values())
    again = Records(store=Store(folder=store.folder)).image("env:1")
    assert again is not None
    assert again.image == one


def test_everything_means_images_too(store: Store, records: Records) -> None:
    kept(records, "env:1", b"one")
    before = sum(size for _, size, _ in store.entries())
    assert prune(store, records, everything=True) == before
    assert not list(store.entries())
    assert not list(records.images())


def test_parts_of_killed_processes_are_swept(store: Store, records: Records) -> None:
    store.put(b"x")
    (store.folder / "parts" / "new-killed").write_bytes(b"12345")
    assert prune(store, records, everything=False) == 6
    assert not list((store.folder / "parts").iterdir())
