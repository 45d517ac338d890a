"""A record is what was written, or it is as if it had never been written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from envbuilder.image.layers.layer_writer import Packed
from envbuilder.image.layers.records import KeptImage, LayerRecord, Records, sum_of
from envbuilder.oci.store import Store
from tests.unit.oci.layout.images import file, image

KEY = "sha256:" + "01" * 32
LOCK = "sha256:" + "ab" * 32
RECORD = LayerRecord(
    packed=Packed(digest="sha256:" + "02" * 32, size=7, diff_id="sha256:" + "03" * 32, contents="sha256:" + "04" * 32),
    needs=("libc.so.6",),
    brings=("libtoy.so.1",),
    notes=("a note",),
)


@pytest.fixture
def records(tmp_path: Path) -> Records:
    return Records(store=Store(folder=tmp_path / "store"))


def kept(records: Records, name: str, content: bytes = b"1") -> KeptImage:
    made = KeptImage(name=name, image=image(records.store, [file("a", content)], bill=b"a bill"), lock=LOCK)
    records.keep_image(made)
    return made


def fresh(records: Records) -> Records:
    return Records(store=Store(folder=records.store.folder))


def only_file(records: Records, folder: str) -> Path:
    [path] = (records.store.folder / folder).glob("*.json")
    return path


def test_what_was_learned_about_a_layer_is_known_again(records: Records) -> None:
    assert records.layer(KEY) is None
    records.keep_layer(KEY, RECORD)
    assert fresh(records).layer(KEY) == RECORD
    assert list(records.layer_digests()) == [(KEY, RECORD.packed.digest)]


BROKEN = ["", "{", "[]", "5", "null", "{}", '"text"', "\0\x7f", "[" * 100_000, '{"size":' + "9" * 5000 + "}"]


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_record_of_a_layer_is_forgotten(records: Records, content: str) -> None:
    records.keep_layer(KEY, RECORD)
    only_file(records, "layers").write_text(content)
    assert records.layer(KEY) is None
    assert list(records.layer_digests()) == []
    records.keep_layer(KEY, RECORD)
    assert records.layer(KEY) == RECORD


def change(path: Path, changes: dict[str, object], *, sealed: bool) -> None:
    plain = json.loads(path.read_text()) | changes
    path.write_text(json.dumps(plain | ({"sha256": sum_of(plain)} if sealed else {})))


@pytest.mark.parametrize(
    "changes",
    [
        {"digest": "sha256:xyz"}, {"digest": 5}, {"diff_id": "../x"}, {"size": "many"}, {"size": -1}, {"size": 1e400},
        {"size": True}, {"needs": None}, {"needs": "libc"}, {"notes": [5]},
    ],
)  # fmt: skip
def test_a_record_with_a_wrong_value_is_forgotten_and_removed(records: Records, changes: dict[str, object]) -> None:
    records.keep_layer(KEY, RECORD)
    change(only_file(records, "layers"), changes, sealed=True)
    assert records.layer(KEY) is None
    assert not list((records.store.folder / "layers").iterdir())


def test_a_record_that_was_pointed_elsewhere_is_not_believed(records: Records) -> None:
    other = records.store.put(b"another layer")
    records.keep_layer(KEY, RECORD)
    change(only_file(records, "layers"), {"digest": other, "size": len(b"another layer")}, sealed=False)
    assert records.layer(KEY) is None


def test_a_record_under_the_key_of_another_layer_is_not_believed(records: Records) -> None:
    records.keep_layer(KEY, RECORD)
    path = only_file(records, "layers")
    path.rename(path.with_name(f"{'07' * 32}.json"))
    assert records.layer("sha256:" + "07" * 32) is None


def test_a_layer_with_another_size_than_its_file_is_made_again(records: Records) -> None:
    digest = records.store.put(b"a layer")
    packed = Packed(digest=digest, size=len(b"a layer"), diff_id=RECORD.packed.diff_id)
    records.keep_layer(KEY, LayerRecord(packed=packed))
    assert records.layer(KEY) == LayerRecord(packed=packed)
    records.store.path(digest).chmod(0o644)
    records.store.path(digest).write_bytes(b"a lay")
    assert records.layer(KEY) is None


def test_a_named_pipe_is_no_record(records: Records) -> None:
    records.keep_layer(KEY, RECORD)
    path = only_file(records, "layers")
    path.unlink()
    os.mkfifo(path)
    assert records.layer(KEY) is None


def test_an_image_is_known_by_name_and_by_both_digests(records: Records) -> None:
    made = kept(records, "localhost:5000/team/env:1")
    kept(records, "other:1", b"2")
    again = fresh(records)
    assert again.image("localhost:5000/team/env:1") == made
    assert again.image(made.image.manifest.descriptor.digest) == made
    assert again.image(made.image.config.descriptor.digest) == made
    assert again.image("env:2") is None
    assert again.image(LOCK) is None
    assert [each.name for each in again.images()] == ["localhost:5000/team/env:1", "other:1"]


def test_names_that_look_alike_are_not_mixed_up(records: Records) -> None:
    made = [kept(records, name, name.encode()) for name in ("a/b:1", "a-b:1", "a.b:1", "a_b:1", "a:b_1")]
    assert [records.image(each.name) for each in made] == made
    assert {path.parent for path in records.store.folder.glob("images/*")} == {records.store.folder / "images"}


def test_a_name_goes_to_the_newer_image(records: Records) -> None:
    kept(records, "env:1", b"old")
    new = kept(records, "env:1", b"new")
    assert list(records.images()) == [new]
    records.forget_image("env:1")
    records.forget_image("env:1")
    assert records.image("env:1") is None


@pytest.mark.parametrize("content", BROKEN)
def test_a_broken_record_of_an_image_is_forgotten(records: Records, content: str) -> None:
    kept(records, "env:1")
    only_file(records, "images").write_text(content)
    assert records.image("env:1") is None
    assert list(records.images()) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"lock": "none"}, {"config": None}, {"layers": [{}]}, {"layers": []}, {"layers": 5}, {"attached": [[1]]},
        {"attached": {}}, {"name": "env:2"}, {"name": 7},
    ],
)  # fmt: skip
def test_an_image_with_a_wrong_value_is_forgotten(records: Records, changes: dict[str, object]) -> None:
    kept(records, "env:1")
    change(only_file(records, "images"), changes, sealed=False)
    assert records.image("env:1") is None
    assert list(records.images()) == []


def test_an_image_whose_layers_are_not_those_of_its_manifest_is_not_believed(records: Records) -> None:
    kept(records, "env:1", b"one")
    other = kept(records, "env:2", b"two").image.layers[0]
    path = records.store.folder / "images" / "env%3a1.json"
    blob = {"media_type": other.blob.media_type, "digest": other.blob.digest, "size": other.blob.size}
    layer = {"id": other.id, "key": other.key, "diff_id": other.diff_id, "blob": blob}
    change(path, {"layers": [layer]}, sealed=False)
    assert records.image("env:1") is None


def test_an_image_with_other_tables_of_contents_than_its_manifest_is_not_believed(records: Records) -> None:
    [layer] = kept(records, "env:1").image.layers
    blob = {"media_type": layer.blob.media_type, "digest": layer.blob.digest, "size": layer.blob.size}
    plain = {"id": layer.id, "key": layer.key, "diff_id": layer.diff_id, "blob": blob, "contents": layer.diff_id}
    change(only_file(records, "images"), {"layers": [plain]}, sealed=False)
    assert records.image("env:1") is None


def test_an_image_whose_configuration_is_gone_is_forgotten(records: Records) -> None:
    made = kept(records, "env:1")
    records.store.remove(made.image.config.descriptor.digest)
    assert records.image("env:1") is None


def test_repositories_that_were_pushed_to_are_known_by_registry(records: Records) -> None:
    assert records.pushed("localhost:5000") == ()
    for repository in ("localhost:5000/b", "localhost:5000/a", "localhost:50001/c", "localhost:5000/b"):
        records.keep_push(repository)
    assert fresh(records).pushed("localhost:5000") == ("localhost:5000/a", "localhost:5000/b")
    (records.store.folder / "pushed.json").write_text("{")
    assert records.pushed("localhost:5000") == ()
    records.keep_push("localhost:5000/d")
    assert records.pushed("localhost:5000") == ("localhost:5000/d",)
