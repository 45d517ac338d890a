"""A tree of the cache is used only while it is what was unpacked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from envbuilder.core.tree_manifests import State, compare, differences, holds, manifest_of, write_manifest


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with what images have: programs, links, two names of one file, an empty directory, a name in Latin-1."""
    root = tmp_path / "tree"
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/true").write_bytes(b"program" * 999)
    (root / "usr/bin/true").chmod(0o755)
    (root / "usr/bin/python").write_bytes(b"python")
    (root / "usr/bin/python3").hardlink_to(root / "usr/bin/python")
    (root / "bin").symlink_to("usr/bin")
    (root / "nowhere").symlink_to("../../etc/passwd")
    (root / "tmp").mkdir(mode=0o1777)
    Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9")).write_bytes(b"")
    write_manifest(root)
    return root


def rewrite(path: Path, content: bytes) -> None:
    """Change a file and put its times back, as somebody who wants to hide it would."""
    before = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def instead(path: Path, make: Callable[[Path], object]) -> None:
    """Put something else in the place of a file."""
    path.unlink()
    make(path)


def test_a_tree_that_nobody_touched_is_the_same(tree: Path) -> None:
    assert compare(tree) is State.SAME
    assert compare(tree, fully=True) is State.SAME
    assert holds(tree)
    assert differences(tree) == []


CHANGES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "other content of the same size and time": (
        "usr/bin/true",
        lambda tree: rewrite(tree / "usr/bin/true", b"PROGRAM" * 999),
    ),
    "a new file": ("usr/bin/evil.pth", lambda tree: (tree / "usr/bin/evil.pth").write_bytes(b"")),
    "a new directory": ("tmp/x", lambda tree: (tree / "tmp/x").mkdir()),
    "one file less": ("usr/bin/true", lambda tree: (tree / "usr/bin/true").unlink()),
    "a mode": ("usr/bin/python", lambda tree: (tree / "usr/bin/python").chmod(0o4755)),
    "a mode of a directory": ("usr", lambda tree: (tree / "usr").chmod(0o777)),
    "a link to elsewhere": (
        "bin",
        lambda tree: instead(tree / "bin", lambda path: path.symlink_to("usr/sbin")),
    ),
    "a file instead of a link": ("bin", lambda tree: instead(tree / "bin", lambda path: path.write_bytes(b""))),
    "a pipe instead of a file": (
        "usr/bin/true",
        lambda tree: instead(tree / "usr/bin/true", lambda path: os.mkfifo(path, 0o755)),
    ),
    "two files instead of two names": (
        "usr/bin/python3",
        lambda tree: instead(tree / "usr/bin/python3", lambda path: path.write_bytes(b"python")),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_tree_is_found(tree: Path, name: str) -> None:
    path, change = CHANGES[name]
    change(tree)
    assert not holds(tree)
    assert compare(tree) is State.CHANGED
    assert path in differences(tree)


def test_a_copy_is_read_once_and_then_known_by_its_metadata(tree: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy" / "tree"
    copy.parent.mkdir()
    os.rename(tree, tmp_path / "old")  # noqa: PTH104  its times must not be those of the copy
    shutil.copytree(tmp_path / "old", copy, symlinks=True)
    (copy / "usr/bin/python3").unlink()
    (copy / "usr/bin/python3").hardlink_to(copy / "usr/bin/python")
    shutil.copyfile(manifest_of(tree), manifest_of(copy))
    assert compare(copy) is State.COPIED
    assert compare(copy) is State.SAME
    rewrite(copy / "usr/bin/true", b"PROGRAM" * 999)
    assert not holds(copy)


def test_a_renamed_tree_is_the_same(tree: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    tree.rename(moved)
    manifest_of(tree).rename(manifest_of(moved))
    assert compare(moved) is State.SAME


@pytest.mark.parametrize("content", [b"", b"\xff\xfe" * 400, b"x" * 9999, b"envbuilder-manifest-1 a b\n[]"])
def test_a_damaged_manifest_proves_nothing(tree: Path, content: bytes) -> None:
    manifest_of(tree).write_bytes(content)
    assert compare(tree) is State.UNKNOWN
    assert not holds(tree)


def test_a_list_that_does_not_match_its_digest_proves_nothing(tree: Path) -> None:
    content = manifest_of(tree).read_bytes()
    rewrite(tree / "usr/bin/true", b"PROGRAM" * 999)
    manifest_of(tree).write_bytes(content.replace(b"usr/bin/true", b"usr/bin/TRUE"))
    assert compare(tree) is State.UNKNOWN


def test_a_tree_without_a_manifest_and_a_link_to_a_tree_are_not_used(tree: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tree)
    manifest_of(link).write_bytes(manifest_of(tree).read_bytes())
    assert not holds(link)
    manifest_of(tree).unlink()
    assert not holds(tree)
    assert not holds(tmp_path / "missing")
