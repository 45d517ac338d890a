"""Whatever is damaged in the cache is found by reading it, and nothing else is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from envbuilder.core.cache_directories import ROOMS
from envbuilder.core.tree_manifests import holds, manifest_of, write_manifest
from envbuilder.image.base.file_store import FileStore
from envbuilder.image.base.tree_store import TreeStore
from envbuilder.image.layers.layer_writer import Packed
from envbuilder.image.layers.records import KeptImage, LayerRecord, Records
from envbuilder.image.running.image_runner import in_use
from envbuilder.image.verify_cache import CacheState, verify_cache
from envbuilder.oci.images import AssembledImage
from envbuilder.oci.store import Store
from tests.unit.image.base.test_tree_store import tree_in
from tests.unit.oci.layout.images import file, image

LOCK = "sha256:" + "ab" * 32


class World:
    """A cache with one of everything."""

    def __init__(self, folder: Path) -> None:
        self.cache = folder / "cache"
        self.store = Store(folder=self.cache / "store")
        self.records = Records(store=self.store)
        self.said: list[str] = []
        self.image: AssembledImage = image(self.store, [file("a", b"content")])
        self.layer = self.image.layers[0]
        packed = Packed(digest=self.layer.blob.digest, size=self.layer.blob.size, diff_id=self.layer.diff_id)
        self.records.keep_layer(self.layer.key, LayerRecord(packed=packed))
        self.records.keep_image(KeptImage(name="env:1", image=self.image, lock=LOCK))
        self.tree = self.unpacked(self.cache / "trees" / self.image.manifest.descriptor.digest[7:])
        self.target = self.unpacked(self.store.folder / "targets" / ("0a" * 32))
        self.base = TreeStore(self.cache / "bases").put(tree_in(folder / "work", b"a base")).path
        (folder / "python.tar.gz").write_bytes(b"an archive")
        digest = FileStore(folder=self.cache / "files").add(folder / "python.tar.gz")
        self.archive = self.cache / "files" / digest / "python.tar.gz"
        self.blob = self.store.path(self.layer.blob.digest)

    @staticmethod
    def unpacked(tree: Path) -> Path:
        (tree / "usr/bin").mkdir(parents=True)
        (tree / "usr/bin/true").write_bytes(b"program")
        write_manifest(tree)
        return tree

    def verify(self, *, removing: bool = False) -> CacheState:
        fresh = Store(folder=self.store.folder)
        return verify_cache(self.cache, fresh, Records(store=fresh), self.said.append, removing=removing)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_what_is_as_it_was_is_counted(world: World) -> None:
    found = world.verify()
    assert found.damaged == ()
    assert {part.holds: part.count for part in found.parts} == {
        "downloads and layers": 3,
        "unpacked images": 1,
        "unpacked interpreters": 1,
        "interpreter archives and tools": 1,
        "Debian bases": 1,
    }
    assert all(part.bytes for part in found.parts)
    assert set(found.unchecked) == {room.name for room in ROOMS} - {"bases", "files", "trees"}
    assert "reading downloads and layers: 3" in world.said


def flip(path: Path) -> None:
    """Change a byte, and put the times back."""
    before = path.stat()
    path.chmod(0o644)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    path.chmod(before.st_mode & 0o777)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


DAMAGE: dict[str, tuple[Callable[[World], Path], Callable[[World], object], str]] = {
    "blob": (lambda world: world.blob, lambda world: flip(world.blob), "its digest is not sha256:"),
    "tree": (lambda world: world.tree, lambda world: flip(world.tree / "usr/bin/true"), "usr/bin/true"),
    "manifest": (lambda world: world.tree, lambda world: manifest_of(world.tree).unlink(), "manifest is damaged"),
    "target": (
        lambda world: world.target,
        lambda world: (world.target / "evil.pth").write_text("import os"),
        "changed since it was unpacked: evil.pth",
    ),
    "archive": (lambda world: world.archive, lambda world: flip(world.archive), "its digest is not sha256:"),
    "base": (lambda world: world.base, lambda world: flip(world.base), "its digest is not sha256:"),
    "description": (
        lambda world: world.base,
        lambda world: world.base.with_suffix(".json").write_bytes(b"\xff"),
        "its description is damaged",
    ),
    "record": (
        lambda world: world.store.folder / "layers" / f"{world.layer.key[7:]}.json",
        lambda world: (world.store.folder / "layers" / f"{world.layer.key[7:]}.json").write_text("[" * 100_000),
        "the record has changed since it was written",
    ),
    "record of an image": (
        lambda world: world.store.folder / "images" / "env%3a1.json",
        lambda world: (world.store.folder / "images" / "env%3a1.json").write_text("{}"),
        "the record has changed since it was written",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_found_and_removed_only_when_that_is_asked_for(world: World, name: str) -> None:
    where, damage, reason = DAMAGE[name]
    path = where(world)
    damage(world)
    [found] = world.verify().damaged
    assert (found.path, found.removed) == (path, False)
    assert reason in found.reason
    assert path.exists()
    removed = world.verify(removing=True).damaged
    assert path in {each.path for each in removed if each.removed}
    assert not path.exists()
    assert world.verify().damaged == ()


def test_a_file_of_the_store_that_is_no_regular_file_is_damaged(world: World) -> None:
    strange = world.store.folder / "sha256" / "00" / ("00" * 31)
    strange.parent.mkdir(exist_ok=True)
    os.mkfifo(strange)
    assert [(each.path, each.reason) for each in world.verify().damaged] == [(strange, "not a regular file")]


def test_a_damaged_tree_in_which_a_command_runs_is_kept(world: World) -> None:
    flip(world.tree / "usr/bin/true")
    with world.store.shared(in_use(world.tree.name)):
        [found] = world.verify(removing=True).damaged
    assert not found.removed
    assert "another command uses it" in found.reason
    assert world.tree.is_dir()


def test_a_copied_cache_is_not_damaged(world: World) -> None:
    for path in (world.tree / "usr/bin/true", world.target / "usr/bin/true"):
        content = path.read_bytes()
        path.unlink()
        path.write_bytes(content)
    assert world.verify().damaged == ()
    assert holds(world.tree)


def test_an_empty_cache_has_nothing_to_read(tmp_path: Path) -> None:
    store = Store(folder=tmp_path / "cache" / "store")
    found = verify_cache(tmp_path / "cache", store, Records(store=store), print, removing=False)
    assert (found.parts, found.damaged) == ((), ())
