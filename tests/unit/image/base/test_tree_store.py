"""Trees survive in the store, and only whole ones come out."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import VerificationFailed
from envbuilder.image.base.tree_store import DebTree, TreeStore
from envbuilder.lock.lock import OsPackagePin


def tree_in(folder: Path, content: bytes, name: str = "new.tar") -> DebTree:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    return DebTree(
        id="debian-bookworm",
        path=folder / name,
        digest=f"sha256:{hashlib.sha256(content).hexdigest()}",
        size=len(content),
        suite="bookworm",
        packages=(OsPackagePin(name="libc6", version="2.36-9"),),
        missing=("bookworm-security",),
        cleared=("usr/bin/su",),
    )


def test_what_was_put_last_is_current_and_older_ones_stay(tmp_path: Path) -> None:
    store = TreeStore(tmp_path / "cache" / "trees")
    assert store.current("debian-bookworm") is None
    first = store.put(tree_in(tmp_path / "work", b"first"))
    second = store.put(tree_in(tmp_path / "work", b"second"))
    assert store.current("debian-bookworm") == second
    assert store.get("debian-bookworm", first.digest) == first
    assert first.path.read_bytes() == b"first"
    assert not (tmp_path / "work" / "new.tar").exists()
    assert store.get("debian-bookworm", "sha256:" + 64 * "0") is None
    assert store.current("debian-trixie") is None


def test_a_tree_that_may_have_set_user_id_programs_serves_its_lock_and_no_other(tmp_path: Path) -> None:
    store = TreeStore(tmp_path)
    kept = store.put(tree_in(tmp_path / "work", b"first"))
    described = kept.path.with_suffix(".json")
    older = {name: value for name, value in json.loads(described.read_bytes()).items() if name != "cleared"}
    described.write_text(json.dumps(older))
    assert store.current(kept.id) is None
    assert store.get(kept.id, kept.digest) == replace(kept, cleared=None)


def test_a_tree_can_be_kept_beside_the_current_one(tmp_path: Path) -> None:
    store = TreeStore(tmp_path)
    first = store.put(tree_in(tmp_path / "work", b"first"))
    second = store.put(tree_in(tmp_path / "work", b"second"), current=False)
    assert store.current("debian-bookworm") == first
    assert store.get("debian-bookworm", second.digest) == second


@pytest.mark.parametrize("values", [["libc6", "2.36-9"], ["libc6", "2.36-9", "", "", 0]])
def test_descriptions_of_older_versions_are_read(tmp_path: Path, values: list[object]) -> None:
    store = TreeStore(tmp_path)
    kept = store.put(tree_in(tmp_path / "work", b"first"))
    described = kept.path.with_suffix(".json")
    described.write_text(json.dumps(json.loads(described.read_bytes()) | {"packages": [values]}))
    assert store.get(kept.id, kept.digest) == kept


def test_a_tree_is_read_as_a_whole_once(tmp_path: Path) -> None:
    store = TreeStore(tmp_path)
    kept = store.put(tree_in(tmp_path / "work", b"first"))
    assert store.get(kept.id, kept.digest) == kept
    kept.path.write_bytes(b"FIRST")
    assert store.get(kept.id, kept.digest) == kept
    with pytest.raises(VerificationFailed):
        TreeStore(tmp_path).get(kept.id, kept.digest)


def test_the_manifest_is_canonical(tmp_path: Path) -> None:
    store = TreeStore(tmp_path)
    kept = store.put(tree_in(tmp_path / "work", b"first"))
    before = kept.path.with_suffix(".json").read_bytes()
    store.put(kept)
    assert kept.path.with_suffix(".json").read_bytes() == before
    assert before.endswith(b"}\n")


def test_a_changed_tar_is_found_before_it_is_used_and_removed(tmp_path: Path) -> None:
    store = TreeStore(tmp_path)
    kept = store.put(tree_in(tmp_path / "work", b"first"))
    kept.path.write_bytes(b"FIRST")
    with pytest.raises(VerificationFailed, match="it was removed"):
        store.get(kept.id, kept.digest)
    assert store.get(kept.id, kept.digest) is None
    assert store.current(kept.id) is None


@pytest.mark.parametrize("manifest", [b"", b"[]", b"{", b"{}", b"\xff", b'{"schema": 2}'])
def test_a_broken_manifest_means_that_the_tree_is_not_there(tmp_path: Path, manifest: bytes) -> None:
    store = TreeStore(tmp_path)
    kept = store.put(tree_in(tmp_path / "work", b"first"))
    kept.path.with_suffix(".json").write_bytes(manifest)
    assert store.get(kept.id, kept.digest) is None
    assert store.current(kept.id) is None


def test_a_tar_that_was_cut_off_or_removed_is_not_there(tmp_path: Path) -> None:
    store = TreeStore(tmp_path)
    kept = store.put(tree_in(tmp_path / "work", b"first"))
    kept.path.write_bytes(b"fir")
    assert store.current(kept.id) is None
    kept.path.unlink()
    assert store.get(kept.id, kept.digest) is None


def test_writers_at_the_same_time_leave_whole_trees(tmp_path: Path) -> None:
    store = TreeStore(tmp_path / "cache")
    trees = [tree_in(tmp_path / "work", bytes([number]) * 10_000, f"{number}.tar") for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        kept = list(pool.map(store.put, trees))
    assert all(store.get(tree.id, tree.digest) == tree for tree in kept)
    assert store.current("debian-bookworm") in kept
    assert not list((tmp_path / "cache").rglob("*.part"))


def test_an_id_cannot_leave_the_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not an id"):
        TreeStore(tmp_path).current("../elsewhere")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\0" * 99, b"sha256:" + b"0" * 64, b"5" * 100_000])
def test_a_damaged_pointer_means_that_there_is_no_tree(tmp_path: Path, content: bytes) -> None:
    store = TreeStore(tmp_path)
    kept = store.put(tree_in(tmp_path / "work", b"first"))
    (kept.path.parent / "current").write_bytes(content)
    assert store.current("debian-bookworm") is None


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "debian-trixie"}, {"id": 5}, {"digest": None}, {"digest": "sha256:" + "0" * 64}, {"size": -1},
        {"size": True}, {"packages": [[]]}, {"packages": [["libc6", 5]]}, {"packages": 5},
        {"packages": [["libc6", "1", []]]}, {"packages": [[{}]]}, {"packages": ["libc6"]},
        {"suite": 2}, {"schema": 2}, {"cleared": 5}, {"cleared": [5]},
    ],
)  # fmt: skip
def test_a_tree_whose_description_is_wrong_is_made_again(tmp_path: Path, changes: dict[str, object]) -> None:
    store = TreeStore(tmp_path)
    kept = store.put(tree_in(tmp_path / "work", b"first"))
    described = kept.path.with_suffix(".json")
    described.write_text(json.dumps(json.loads(described.read_bytes()) | changes))
    assert store.current("debian-bookworm") is None
    assert store.get("debian-bookworm", kept.digest) is None
    assert list(store.all()) == []


@pytest.mark.parametrize("content", [b"", b"\xff" * 300, b"[" * 100_000, b"5", b'"text"', b'{"schema": 1}'])
def test_a_tree_whose_description_cannot_be_read_is_made_again(tmp_path: Path, content: bytes) -> None:
    store = TreeStore(tmp_path)
    kept = store.put(tree_in(tmp_path / "work", b"first"))
    kept.path.with_suffix(".json").write_bytes(content)
    assert store.current("debian-bookworm") is None
    assert store.put(tree_in(tmp_path / "work", b"first")) == kept
    assert list(store.all()) == [kept]
