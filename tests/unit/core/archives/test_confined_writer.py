"""Nothing is written outside of a directory or through a link, whoever put the link there."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from envbuilder.core.archives.confined_writer import ConfinedWriter
from envbuilder.core.archives.member_names import BadArchive


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_bytes(b"kept")
    made = tmp_path / "root"
    made.mkdir()
    return made


def put(below: ConfinedWriter, path: str, data: bytes = b"data") -> None:
    with below.file(path, mode=0o644) as stream:
        stream.write(data)


WAYS: dict[str, Callable[[ConfinedWriter, str], None]] = {
    "file": put,
    "folder": lambda below, path: below.folder(path),
    "symlink": lambda below, path: below.symlink(path, "x"),
    "hard link": lambda below, path: below.hard_link(path, "own"),
}


@pytest.mark.parametrize("way", sorted(WAYS))
@pytest.mark.parametrize(
    "path", ["../new", "a/../../new", "/tmp/new", "up/new", "up/deep/new", "in/up/new", "a\0b", ""]
)
def test_nothing_leaves_the_directory(root: Path, way: str, path: str) -> None:
    (root / "up").symlink_to("../outside")
    (root / "in").symlink_to(".")
    with ConfinedWriter(root) as below:
        put(below, "own")
        with pytest.raises(BadArchive):
            WAYS[way](below, path)
    assert [each.name for each in (root.parent / "outside").iterdir()] == ["kept"]
    assert not (root.parent / "new").exists()


def test_a_link_in_place_of_a_file_is_replaced_and_not_followed(root: Path) -> None:
    (root / "link").symlink_to("../outside/kept")
    with ConfinedWriter(root) as below:
        put(below, "link", b"new")
    assert (root / "link").read_bytes() == b"new"
    assert (root.parent / "outside" / "kept").read_bytes() == b"kept"


def test_a_folder_that_becomes_a_link_while_it_is_written_to_leads_nowhere(root: Path) -> None:
    with ConfinedWriter(root) as below:
        put(below, "a/b/first")
        (root / "a" / "b").rename(root / "moved")
        (root / "a" / "b").symlink_to("../../outside")
        put(below, "a/b/second")
        put(below, "other/third")
        with pytest.raises(BadArchive, match="is a link or a file"):
            put(below, "a/b/fourth")
    assert [each.name for each in (root.parent / "outside").iterdir()] == ["kept"]
    assert {each.name for each in (root / "moved").iterdir()} >= {"first", "second"}


def test_a_hard_link_is_to_a_file_of_the_directory_only(root: Path) -> None:
    (root / "up").symlink_to("../outside")
    (root / "link").symlink_to("../outside/kept")
    with ConfinedWriter(root) as below:
        below.folder("folder")
        for to in ("up/kept", "link", "../outside/kept", "folder", "missing", "missing/deep"):
            with pytest.raises(BadArchive):
                below.hard_link("new", to)
    assert (root.parent / "outside" / "kept").stat().st_nlink == 1


def test_a_file_has_its_mode_and_time_and_a_folder_gets_them_at_the_end(root: Path) -> None:
    with ConfinedWriter(root) as below:
        below.folder("d", 0o700)
        with below.file("d/f", mode=0o640, mtime=1234, owner=(os.getuid(), os.getgid())) as stream:
            stream.write(b"x")
        below.symlink("d/l", "f", mtime=4321)
        below.describe("d", mode=0o1755, mtime=99)
    assert (stat.S_IMODE((root / "d/f").stat().st_mode), (root / "d/f").stat().st_mtime) == (0o640, 1234)
    assert (root / "d/l").lstat().st_mtime == 4321
    assert (stat.S_IMODE((root / "d").stat().st_mode), (root / "d").stat().st_mtime) == (0o1755, 99)


def test_a_folder_does_not_give_way_to_a_file_nor_a_file_to_a_folder(root: Path) -> None:
    with ConfinedWriter(root) as below:
        below.folder("folder")
        put(below, "file")
        for way, path in (
            ("file", "folder"),
            ("symlink", "folder"),
            ("folder", "file"),
            ("file", "file/x"),
            ("file", "."),
        ):
            with pytest.raises(BadArchive):
                WAYS[way](below, path)


def handles(folder: Path) -> list[Path]:
    """Return what this process has open below a directory; other tests of the worker may close theirs at any time."""
    found = []
    for each in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.append(each.readlink())
    return [path for path in found if path.is_relative_to(folder.resolve())]


def test_handles_are_closed(root: Path) -> None:
    with ConfinedWriter(root) as below:
        put(below, "a/b/c/d")
        below.hard_link("x/y", "a/b/c/d")
        with pytest.raises(BadArchive):
            below.folder("a/b/c/d/e")
        assert handles(root)
    assert not handles(root)
