"""A bundle has every file of its lock, also after the cache was pruned."""

from __future__ import annotations

import hashlib
import tarfile
from dataclasses import replace

import pytest

from envbuilder.image.base.tree_store import TreeStore
from envbuilder.lock.lock import Lock, OwnFile
from envbuilder.lock.lockfile import dump
from tests.fakes.catalogs import good_lock
from tests.unit.cli.debs import DEBS, lock_of_debs
from tests.unit.cli.running import CommandLine
from tests.unit.image.base.test_tree_store import tree_in


@pytest.fixture
def lock(envbuilder: CommandLine) -> Lock:
    """A lock whose base is in the cache, and whose packages are not."""
    base = good_lock().base
    tree = tree_in(envbuilder.folder / "making", b"a tree")
    kept = TreeStore(envbuilder.folder / "cache" / "bases").put(replace(tree, id=base.id))
    return lock_of_debs(replace(base, digest=kept.digest))


def test_packages_of_the_base_that_are_not_in_the_store_are_fetched(
    envbuilder: CommandLine, lock: Lock, debian: str
) -> None:
    envbuilder.write("x.lock", dump(lock))
    for _ in range(2):
        ended = envbuilder("bundle", "x.lock", "-o", "x.bundle", "--debian-mirror", debian)
        assert (ended.status, "Traceback" in ended.stderr) == (0, False), ended.stderr
        with tarfile.open(envbuilder.folder / "x.bundle") as bundle:
            names = set(bundle.getnames())
        assert {f"sha256/{hashlib.sha256(content).hexdigest()}" for content in DEBS.values()} <= names
        assert envbuilder("cache", "prune").status == 0


def test_a_package_that_the_mirror_does_not_have_is_named(envbuilder: CommandLine, lock: Lock, debian: str) -> None:
    gone = replace(lock.base.packages[0], file="pool/gone.deb")
    envbuilder.write("x.lock", dump(replace(lock, base=replace(lock.base, packages=(gone,)))))
    ended = envbuilder("bundle", "x.lock", "-o", "x.bundle", "--debian-mirror", debian)
    assert ended.status == 5
    assert "gone.deb" in ended.stderr
    assert not (envbuilder.folder / "x.bundle").exists()


def test_a_file_that_nobody_has_is_named(envbuilder: CommandLine, lock: Lock, debian: str) -> None:
    own = OwnFile(path="/app/model.bin", sha256="01" * 32, size=1)
    envbuilder.write("x.lock", dump(replace(lock, files=(own,))))
    ended = envbuilder("bundle", "x.lock", "-o", "x.bundle", "--debian-mirror", debian)
    assert ended.status == 5
    assert "the own file /app/model.bin" in ended.stderr
    assert "next: " in ended.stderr
