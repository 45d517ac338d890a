"""The image id of a tree is known before any engine sees it."""

from __future__ import annotations

import hashlib
import json
import tarfile
from dataclasses import replace
from pathlib import Path

from envbuilder.image.base.docker_archive import docker_archive
from envbuilder.image.base.tree_store import DebTree


def tree_at(path: Path) -> DebTree:
    path.write_bytes(b"layer")
    return DebTree(
        id="debian-bookworm",
        path=path,
        digest=f"sha256:{hashlib.sha256(b'layer').hexdigest()}",
        size=5,
        suite="bookworm",
        packages=(),
    )


def test_the_id_is_the_digest_of_the_configuration(tmp_path: Path) -> None:
    tree = tree_at(tmp_path / "tree.tar")
    image_id = docker_archive(tree, tmp_path / "out.tar", labels={"b": "2", "a": "1"}, tags=("base:1",))
    with tarfile.open(tmp_path / "out.tar") as content:
        files = {info.name: content.extractfile(info).read() for info in content}  # type: ignore[union-attr]
    (entry,) = json.loads(files["manifest.json"])
    config = files[entry["Config"]]
    assert f"sha256:{hashlib.sha256(config).hexdigest()}" == image_id
    assert entry["RepoTags"] == ["base:1"]
    assert files["layer.tar"] == b"layer"
    assert json.loads(config) == {
        "architecture": "amd64",
        "config": {"Labels": {"a": "1", "b": "2"}},
        "created": "2023-11-14T22:13:20Z",
        "history": [{"created": "2023-11-14T22:13:20Z", "created_by": "Debian packages bookworm"}],
        "os": "linux",
        "rootfs": {"diff_ids": [tree.digest], "type": "layers"},
    }


def test_neither_place_nor_name_nor_order_of_labels_changes_it(tmp_path: Path) -> None:
    tree = tree_at(tmp_path / "tree.tar")
    (tmp_path / "else").mkdir()
    other = replace(tree_at(tmp_path / "else" / "other.tar"), missing=("bookworm-updates",))
    one = docker_archive(tree, tmp_path / "one.tar", labels={"a": "1", "b": "2"})
    two = docker_archive(other, tmp_path / "two.tar", labels={"b": "2", "a": "1"})
    assert one == two
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
