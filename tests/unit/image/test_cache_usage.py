"""What is in a store is known without reading it, and what an image needs is never removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envbuilder.catalog.archives import ArchiveFormat
from envbuilder.core.cache_directories import ROOMS, bytes_of, use_room
from envbuilder.core.errors import UsageError
from envbuilder.core.tree_manifests import holds, write_manifest
from envbuilder.image.cache_usage import Pruned, prune, remove_image, room_usage, usage
from envbuilder.image.layers.layer_writer import Packed
from envbuilder.image.layers.records import KeptImage, LayerRecord, Records
from envbuilder.image.running.image_runner import in_use
from envbuilder.image.vendor.records import ArchiveRecords
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.store import Store
from tests.fakes.vendor_archives import Shelf, archive_of, pin_of
from tests.unit.oci.layout.images import file, image

LOCK = "sha256:" + "ab" * 32
SHARED = [file("shared", b"shared" * 99)]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def store(cache: Path) -> Store:
    return Store(folder=cache / "store")


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


def test_an_empty_store_holds_nothing(cache: Path, store: Store, records: Records) -> None:
    found = usage(store, records)
    assert (found.images, found.layers, found.loose, found.files) == ((), 0, 0, 0)
    assert prune(cache, store, records, everything=True) == Pruned(freed=0, in_use=())


def test_what_an_image_needs_stays(cache: Path, store: Store, records: Records) -> None:
    one = kept(records, "env:1", b"one", bill=b"a bill")
    kept(records, "env:2", b"two")
    records.forget_image("env:2")
    store.put(b"a wheel")
    before = sum(size for _, size, _ in store.entries())
    freed = prune(cache, store, records, everything=False).freed
    left = {digest: size for digest, size, _ in store.entries()}
    assert left.keys() == digests(one)
    assert freed == before - sum(left.values())
    again = Records(store=Store(folder=store.folder)).image("env:1")
    assert again is not None
    assert again.image == one


def test_one_image_is_removed_and_what_others_need_stays(cache: Path, store: Store, records: Records) -> None:
    one, two = kept(records, "env:1", b"one"), kept(records, "env:2", b"two" * 50)
    kept(records, "env:latest", b"two" * 50)
    download = store.put(b"a wheel")
    expected = total(store, digests(one) - digests(two))
    assert remove_image(cache, store, records, "env:1") == expected > 0
    assert {digest for digest, _, _ in store.entries()} == digests(two) | {download}
    assert remove_image(cache, store, records, "env:2") == 0
    assert [each.name for each in records.images()] == ["env:latest"]
    with pytest.raises(UsageError, match="image not found: env:1"):
        remove_image(cache, store, records, "env:1")


def test_everything_means_images_too(cache: Path, store: Store, records: Records) -> None:
    kept(records, "env:1", b"one")
    before = sum(size for _, size, _ in store.entries())
    assert prune(cache, store, records, everything=True).freed >= before
    assert not list(store.entries())
    assert not list(records.images())


def test_parts_of_killed_processes_are_swept(cache: Path, store: Store, records: Records) -> None:
    store.put(b"x")
    (store.folder / "parts" / "new-killed").write_bytes(b"12345")
    assert prune(cache, store, records, everything=False).freed == 6
    assert not list((store.folder / "parts").iterdir())


HEX = "0123456789abcdef" * 4
CONTENTS = {
    "bases": ("debian-bookworm/current", "debian-bookworm/0123456789ab.tar", ".debian-bookworm-17.tar"),
    "catalogs": (f"{HEX[:40]}/catalog.yaml",),
    "fan-out": (HEX,),
    "files": (f"{HEX}/cpython-3.8.tar.gz",),
    "kept": ("mine/image.json",),
    "locks": ("tf-2.15-cpu/envbuilder.lock",),
    "logs": ("lock-image-20261122T101112Z.log",),
    "pythons": ("cpython-3.8.20-linux-x86_64-gnu/bin/python3", ".lock", ".gitignore"),
    "releases": ("bookworm-security",),
    "trees": (f"{HEX}/usr/bin/python3", f".{HEX}.aa.part/x"),
    "uv": ("CACHEDIR.TAG", ".gitignore", "wheels-v8/index/x.whl", "archive-v0/y/z"),
    "work": (
        "run-abcd_123/x",
        "assemble-00000000/y",
        "build-tf-2.15-cpu-abcdefgh/z",
        "proving-42/uv/z",
        "fan-out-abcd_123/jobs/z",
    ),
    "seen": (HEX,),
}
ONLY_SAVES_TIME = {"catalogs", "trees", "uv", "work"}
PROTECTS = {"releases", "kept"}


def fill(cache: Path) -> None:
    """Put something into each directory of the cache; directories may not be writable, files may have two names."""
    for name, paths in CONTENTS.items():
        for path in paths:
            file = cache / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(b"x" * 100_000)
    tree = cache / "trees" / HEX
    (tree / "usr/bin/python").hardlink_to(tree / "usr/bin/python3")
    (tree / "etc").symlink_to("/etc")
    (tree / "usr/bin").chmod(0o555)
    (cache / "store" / "targets" / HEX / "usr").mkdir(parents=True)
    (cache / "store" / "uploads").mkdir()
    (cache / "store" / "uploads" / HEX).write_text("https://registry.example/upload")


def names(cache: Path) -> set[str]:
    return {name for name in CONTENTS if (cache / name).is_dir() and any((cache / name).iterdir())}


def test_each_directory_is_counted(cache: Path) -> None:
    fill(cache)
    counted = {room.name: size for room, size in room_usage(cache)}
    assert counted.keys() == CONTENTS.keys()
    assert all(size >= 100_000 * len(CONTENTS[name]) for name, size in counted.items())
    assert counted["trees"] < 250_000


def test_what_only_saves_time_is_freed(cache: Path, store: Store, records: Records) -> None:
    fill(cache)
    before = bytes_of(cache)
    done = prune(cache, store, records, everything=False)
    assert names(cache) == CONTENTS.keys() - ONLY_SAVES_TIME
    assert not (store.folder / "targets").exists()
    assert not (store.folder / "uploads").exists()
    assert done.in_use == ()
    assert abs(before - bytes_of(cache) - done.freed) <= 20_000
    assert Path("/etc/passwd").exists()


def test_everything_leaves_nearly_nothing(cache: Path, store: Store, records: Records) -> None:
    fill(cache)
    kept(records, "env:1", b"one")
    prune(cache, store, records, everything=True)
    assert names(cache) == PROTECTS
    left = [path for path in cache.rglob("*") if path.is_file() and path.stat().st_size]
    assert sorted(left) == [cache / "kept" / "mine" / "image.json", cache / "releases" / "bookworm-security"]


def test_the_unpacked_tree_of_an_image_stays_with_it(cache: Path, store: Store, records: Records) -> None:
    made = kept(records, "env:1", b"one")
    tree = cache / "trees" / made.manifest.descriptor.digest.removeprefix("sha256:")
    (tree / "usr").mkdir(parents=True)
    write_manifest(tree)
    prune(cache, store, records, everything=False)
    assert holds(tree)
    records.forget_image("env:1")
    prune(cache, store, records, everything=False)
    assert not list(tree.parent.iterdir())


def test_what_another_command_uses_stays_and_is_named(cache: Path, store: Store, records: Records) -> None:
    fill(cache)
    _, handle = use_room(cache, "uv")
    assert handle is not None
    with store.shared(in_use(HEX)):
        done = prune(cache, store, records, everything=True)
    assert done.in_use == ("trees", "uv")
    assert names(cache) == {"trees", "uv"} | PROTECTS
    assert [path.name for path in (cache / "trees").iterdir()] == [HEX]
    os.close(handle)
    assert prune(cache, store, records, everything=True).in_use == ()
    assert names(cache) == PROTECTS


def test_nothing_of_others_is_removed(cache: Path, store: Store, records: Records, tmp_path: Path) -> None:
    others = [f"{room.name}/{name}" for room in ROOMS for name in ("Thesis", "my notes", "data.csv")]
    for path in others:
        (cache / path).mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere" / "wheels-v8"
    elsewhere.mkdir(parents=True)
    (cache / "uv" / "wheels-v8").symlink_to(elsewhere)
    prune(cache, store, records, everything=True)
    assert all((cache / path).is_dir() for path in others)
    assert elsewhere.is_dir()


def test_a_directory_that_is_a_link_is_left_alone(cache: Path, store: Store, records: Records, tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / HEX).mkdir(parents=True)
    cache.mkdir()
    (cache / "files").symlink_to(tmp_path / "elsewhere")
    prune(cache, store, records, everything=True)
    assert (tmp_path / "elsewhere" / HEX).is_dir()


def test_records_of_vendor_archives_stay_until_everything_goes(cache: Path, store: Store, records: Records) -> None:
    content = archive_of(ArchiveFormat.TAR_GZIP)
    pin = pin_of(content, ArchiveFormat.TAR_GZIP)
    store.put(content)
    Shelf(store=store).libraries().libraries(pin)
    prune(cache, store, records, everything=False)
    assert ArchiveRecords(store=store).taken(pin.sha256, "")
    prune(cache, store, records, everything=True)
    assert not ArchiveRecords(store=store).taken(pin.sha256, "")
