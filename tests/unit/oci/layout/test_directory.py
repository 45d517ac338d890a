"""Layouts and archives, and reading them again."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import UsageError, VerificationFailed
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.layout.archive import write_archive
from envbuilder.oci.layout.contents import blob_name
from envbuilder.oci.layout.directory import write_layout
from envbuilder.oci.layout.image_files import image_files
from envbuilder.oci.layout.stored_images import read_layout
from envbuilder.oci.store import Store
from tests.unit.oci.layout.images import file, image, tar_of

Writer = Callable[..., object]
both = pytest.mark.parametrize("write", [write_layout, write_archive], ids=["folder", "tar"])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "there"


@pytest.fixture
def first(store: Store) -> AssembledImage:
    return image(store, [file("a", b"1")], [file("b", b"2")], bill=b'{"spdxVersion":"SPDX-2.3"}')


def listed(folder: Path) -> list[tuple[str, str]]:
    index = json.loads((folder / "index.json").read_bytes())
    name = "org.opencontainers.image.ref.name"
    return [(entry.get("annotations", {}).get(name, ""), entry["digest"]) for entry in index["manifests"]]


@both
def test_what_is_written_is_read_again(write: Writer, first: AssembledImage, store: Store, place: Path) -> None:
    write(first, store, place, ("tf:1",))
    for name in ("tf:1", ""):
        found = read_layout(place, name)
        assert found.manifest == first.manifest
        assert found.config == first.config
        assert found.layers == tuple(layer.blob for layer in first.layers)
        for layer in found.layers:
            with found.open(layer) as stream:
                assert stream.read() == store.read(layer.digest)


@both
def test_all_blobs_that_are_named_are_there(write: Writer, first: AssembledImage, store: Store, place: Path) -> None:
    """Also the empty configuration of what is attached."""
    write(first, store, place, (), attestations=True)
    if place.is_file():
        with tarfile.open(place) as tar:
            names = {name.removeprefix("blobs/sha256/") for name in tar.getnames()}
    else:
        names = {path.name for path in (place / "blobs/sha256").iterdir()}
    assert hashlib.sha256(b"{}").hexdigest() in names
    for manifest, content in first.attached:
        assert {manifest.descriptor.digest[7:], content.descriptor.digest[7:]} <= names


@both
def test_a_damaged_layer_is_not_delivered(write: Writer, first: AssembledImage, store: Store, place: Path) -> None:
    path = store.path(first.layers[1].blob.digest)
    path.chmod(0o644)
    path.write_bytes(b"x")
    with pytest.raises(VerificationFailed, match="damaged"):
        write(first, Store(folder=store.folder), place, ())
    assert not place.exists()


@both
def test_a_name_must_be_one(write: Writer, first: AssembledImage, store: Store, place: Path) -> None:
    with pytest.raises(UsageError, match="cannot be the name"):
        write(first, store, place, ("with space",))
    assert not place.exists()


@both
def test_the_index_holds_one_image_whatever_is_attached_and_however_it_is_called(
    write: Writer, first: AssembledImage, store: Store, place: Path
) -> None:
    write(first, store, place, ("tf:latest", "tf:1"))
    stored = image_files(place)
    with stored.open("index.json") as stream:
        (entry,) = json.load(stream)["manifests"]
    assert entry["digest"] == first.manifest.descriptor.digest
    assert entry["annotations"] == {"org.opencontainers.image.ref.name": "tf:latest"}
    assert not any(stored.has(blob_name(manifest.descriptor.digest)) for manifest, _ in first.attached)


def test_an_image_that_loses_its_name_leaves_the_layout(first: AssembledImage, store: Store, place: Path) -> None:
    second = image(store, [file("c", b"3")])
    write_layout(first, store, place, ("tf:latest", "tf:1"), attestations=True)
    write_layout(first, store, place, ("tf:latest", "tf:1"))
    write_layout(second, store, place, ("tf:latest", "tf:2"))
    assert listed(place) == [("tf:latest", second.manifest.descriptor.digest)]


def test_layers_are_links_to_the_store(first: AssembledImage, store: Store, place: Path) -> None:
    write_layout(first, store, place, ("tf:1",))
    digest = first.layers[0].blob.digest
    assert (place / "blobs" / digest.replace(":", "/")).samefile(store.path(digest))


def test_other_images_of_a_layout_stay(first: AssembledImage, store: Store, place: Path) -> None:
    second = image(store, [file("c", b"3")])
    write_layout(first, store, place, ("one",), attestations=True)
    write_layout(second, store, place, ("two",))
    write_layout(second, store, place, ("two",))
    digests = {"one": first.manifest.descriptor.digest, "two": second.manifest.descriptor.digest}
    attached = first.attached[0][0].descriptor.digest
    assert listed(place) == [
        ("one", digests["one"]),
        ("", attached),
        ("two", digests["two"]),
    ]
    assert read_layout(place, "one").config == first.config
    assert read_layout(place, "two").config == second.config
    with pytest.raises(UsageError, match="holds 2 images") as caught:
        read_layout(place)
    assert "one, two" in caught.value.hint
    with pytest.raises(UsageError, match="holds 0 images called three"):
        read_layout(place, "three")


def test_an_image_without_a_name_is_listed_once(first: AssembledImage, store: Store, place: Path) -> None:
    write_layout(first, store, place, ())
    write_layout(first, store, place, ())
    assert listed(place) == [("", first.manifest.descriptor.digest)]
    assert read_layout(place).config == first.config


def test_an_empty_folder_becomes_a_layout(first: AssembledImage, store: Store, place: Path) -> None:
    place.mkdir()
    write_layout(first, store, place, ("x",))
    assert read_layout(place, "x").config == first.config
    assert [path.name for path in place.parent.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("kind", ["file", "folder", "other-version", "dangling-link"])
def test_something_else_in_the_way_is_refused(
    kind: str, first: AssembledImage, store: Store, place: Path, tmp_path: Path
) -> None:
    if kind == "file":
        place.write_text("mine")
    elif kind == "dangling-link":
        place.symlink_to(tmp_path / "nowhere")
    else:
        place.mkdir()
        name = "oci-layout" if kind == "other-version" else "mine"
        (place / name).write_text('{"imageLayoutVersion":"2.0.0"}')
    with pytest.raises(UsageError, match="already exists"):
        write_layout(first, store, place, ("x",))
    assert place.is_symlink() or place.is_file() or len(list(place.iterdir())) == 1


def test_a_damaged_blob_of_a_layout_is_replaced(first: AssembledImage, store: Store, place: Path) -> None:
    write_layout(first, store, place, ("x",))
    blob = place / "blobs" / first.layers[0].blob.digest.replace(":", "/")
    blob.unlink()
    blob.write_bytes(b"damaged")
    with pytest.raises(VerificationFailed, match="is damaged"):
        read_layout(place, "x")
    write_layout(first, store, place, ("x",))
    assert read_layout(place, "x").config == first.config


def test_a_run_that_ends_early_leaves_the_layout_as_it_was(first: AssembledImage, store: Store, place: Path) -> None:
    write_layout(first, store, place, ("x",))
    before = (place / "index.json").read_bytes()
    third = image(store, [file("d", b"4")])
    path = store.path(third.layers[0].blob.digest)
    path.rename(path.with_name("away"))
    store.trusted.clear()
    with pytest.raises(VerificationFailed, match="not in the cache"):
        write_layout(third, store, place, ("x",))
    assert (place / "index.json").read_bytes() == before
    assert read_layout(place, "x").config == first.config


def test_an_archive_is_the_same_each_time(first: AssembledImage, store: Store, tmp_path: Path) -> None:
    one = write_archive(first, store, tmp_path / "one.tar", ("b:2", "a:1"))
    two = write_archive(first, Store(folder=store.folder), tmp_path / "two.tar", ("b:2", "a:1"))
    assert one.sha256 == two.sha256
    with tarfile.open(one.path) as tar:
        names = tar.getnames()
        manifest = tar.extractfile("manifest.json")
        assert manifest is not None
        described = json.loads(manifest.read())
    assert names == sorted(names)
    assert described[0]["RepoTags"] == ["a:1", "b:2"]
    assert set(described[0]["Layers"]) < set(names)


def save(path: Path, made: AssembledImage, store: Store, **changes: bytes) -> None:
    """As older engines save: plain layers, the second time as a link, and no index."""
    config = made.config.content
    name = f"{hashlib.sha256(config).hexdigest()}.json"
    plain = tar_of([file("a", b"1")])
    manifest = json.dumps([{"Config": name, "RepoTags": ["x:1"], "Layers": ["one/layer.tar", "two/layer.tar"]}])
    link = tarfile.TarInfo("two/layer.tar")
    link.type, link.linkname = tarfile.SYMTYPE, "../one/layer.tar"
    members = [
        (link, b""),
        file("one/layer.tar", changes.get("layer", plain)),
        file(name, changes.get("config", config)),
        file("manifest.json", manifest.encode()),
    ]
    path.write_bytes(tar_of(members))


def test_what_docker_saves_is_read(store: Store, place: Path) -> None:
    made = image(store, [file("a", b"1")], [file("a", b"1")])
    save(place, made, store)
    found = read_layout(place, "x:1")
    assert found.manifest is None
    assert found.config.descriptor.digest == made.config.descriptor.digest
    assert [layer.digest for layer in found.layers] == [layer.diff_id for layer in made.layers]
    with found.open(found.layers[1]) as stream:
        assert stream.read() == tar_of([file("a", b"1")])


@pytest.mark.parametrize("part", ["layer", "config"])
def test_what_docker_saves_is_compared_with_its_digests(part: str, store: Store, place: Path) -> None:
    made = image(store, [file("a", b"1")], [file("a", b"1")])
    content = made.config.content + b" " if part == "config" else tar_of([file("a", b"2")])
    save(place, made, store, **{part: content})
    with pytest.raises(VerificationFailed):
        read_layout(place)


def test_an_index_of_platforms_leads_to_ours(first: AssembledImage, store: Store, place: Path) -> None:
    write_layout(first, store, place, ("x",))
    inner = {
        "schemaVersion": 2,
        "manifests": [
            {
                "mediaType": "x",
                "digest": f"sha256:{'1' * 64}",
                "size": 1,
                "platform": {"os": "linux", "architecture": "arm64"},
            },
            {
                "mediaType": first.manifest.descriptor.media_type,
                "digest": first.manifest.descriptor.digest,
                "size": first.manifest.descriptor.size,
                "platform": {"os": "linux", "architecture": "amd64"},
            },
        ],
    }
    content = json.dumps(inner).encode()
    digest = hashlib.sha256(content).hexdigest()
    (place / "blobs/sha256" / digest).write_bytes(content)
    outer = {"mediaType": "application/vnd.oci.image.index.v1+json", "digest": f"sha256:{digest}", "size": len(content)}
    (place / "index.json").write_text(json.dumps({"manifests": [outer]}))
    assert read_layout(place).manifest == first.manifest


@pytest.mark.parametrize("kind", ["absent", "empty-folder", "no-tar", "empty-tar", "outside"])
def test_what_holds_no_image_is_refused(kind: str, place: Path) -> None:
    if kind in {"empty-folder", "outside"}:
        place.mkdir()
    if kind == "outside":
        (place.parent / "config").write_text("{}")
        (place / "manifest.json").write_text('[{"Config": "../config", "Layers": []}]')
    if kind == "no-tar":
        place.write_bytes(b"x" * 2000)
    if kind == "empty-tar":
        place.write_bytes(tar_of([]))
    with pytest.raises((UsageError, VerificationFailed)):
        read_layout(place)


def test_a_manifest_without_digests_is_refused(first: AssembledImage, store: Store, place: Path) -> None:
    write_layout(first, store, place, ())
    (place / "index.json").write_text('{"manifests": [{"digest": "sha256:../../x", "size": 3}]}')
    with pytest.raises(VerificationFailed, match="without a sha256"):
        read_layout(place)


def test_two_layers_of_equal_content_are_one_blob(store: Store, place: Path) -> None:
    made = image(store, [file("a", b"1")], [file("a", b"1")])
    assert replace(made.layers[0], id="") == replace(made.layers[1], id="")
    write_archive(made, store, place, ())
    assert len(read_layout(place).layers) == 2


def test_copies_are_made_where_links_cannot_be(first: AssembledImage, store: Store) -> None:
    """Another file system, such as the one for shared memory."""
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        write_layout(first, store, Path(other) / "layout", ("x",))
        assert read_layout(Path(other) / "layout", "x").config == first.config


def test_bytes_of_the_tar_are_read_back_by_the_standard_library(
    first: AssembledImage, store: Store, place: Path
) -> None:
    write_archive(first, store, place, ())
    with tarfile.open(fileobj=io.BytesIO(place.read_bytes())) as tar:
        assert {member.mtime for member in tar} == {0}
