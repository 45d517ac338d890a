"""Programs of Debian packages have the rights of another account only where the spec allows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from envbuilder.image.base.deb.tree import UnpackedTree, added_tree, base_tree
from envbuilder.oci.tar.members import of_tar
from envbuilder.oci.tar.writing import write
from tests.unit.image.base.deb.debs import Content, deb

FILES: dict[str, Content] = {"bin/su": b"su", "usr/bin/wall": b"wall", "usr/bin/ls": b"ls", "var/mail": None}
MODES = {"bin/su": 0o4755, "usr/bin/wall": 0o2755, "usr/bin/ls": 0o755, "var/mail": 0o2775}
Unpack = Callable[[Path, dict[str, Content], dict[str, int], frozenset[str]], UnpackedTree]


def as_base(folder: Path, files: dict[str, Content], modes: dict[str, int], allowed: frozenset[str]) -> UnpackedTree:
    return base_tree([deb(folder, "new", files, modes=modes)], work=folder, allowed=allowed)


def as_addition(
    folder: Path, files: dict[str, Content], modes: dict[str, int], allowed: frozenset[str]
) -> UnpackedTree:
    base = base_tree([deb(folder, "old", {"etc/x": b"x"})], work=folder).members
    return added_tree([deb(folder, "new", files, modes=modes)], base, work=folder, allowed=allowed)


BOTH = pytest.mark.parametrize("unpack", [as_base, as_addition])


def modes_of(tree: UnpackedTree) -> dict[str, int]:
    return {member.path: member.mode for member in tree.members if member.path.startswith(("usr/bin/", "var/mail"))}


@BOTH
def test_programs_lose_the_rights_of_another_account_and_directories_keep_their_group(
    tmp_path: Path, unpack: Unpack
) -> None:
    tree = unpack(tmp_path, FILES, MODES, frozenset())
    assert modes_of(tree) == {"usr/bin/su": 0o755, "usr/bin/wall": 0o755, "usr/bin/ls": 0o755, "var/mail": 0o2775}
    assert tree.cleared == ("usr/bin/su", "usr/bin/wall")


@BOTH
def test_what_is_allowed_keeps_them_and_nothing_else(tmp_path: Path, unpack: Unpack) -> None:
    tree = unpack(tmp_path, FILES, MODES, frozenset({"usr/bin/su", "usr/bin/ls", "usr/bin/missing"}))
    assert modes_of(tree) == {"usr/bin/su": 0o4755, "usr/bin/wall": 0o755, "usr/bin/ls": 0o755, "var/mail": 0o2775}
    assert tree.cleared == ("usr/bin/wall",)


@BOTH
@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o6711])
def test_a_second_name_of_an_allowed_program_has_no_rights(tmp_path: Path, unpack: Unpack, mode: int) -> None:
    files: dict[str, Content] = {"usr/bin/first": b"1", "usr/bin/second": "=usr/bin/first"}
    modes = {"usr/bin/first": mode, "usr/bin/second": mode}
    for allowed in files:
        tree = unpack(tmp_path, files, modes, frozenset({allowed}))
        path = write(tree.members, tmp_path / "out.tar").path
        written = {member.path: member for member in of_tar(path)}
        assert {name: written[name].mode for name in files} == {
            name: mode if name == allowed else mode & 0o777 for name in files
        }
        assert {written[name].read() for name in files} == {b"1"}


def test_the_bits_decide_the_bytes_of_a_base_only_where_it_has_the_program(tmp_path: Path) -> None:
    def digest(*allowed: str) -> str:
        return write(as_base(tmp_path, FILES, MODES, frozenset(allowed)).members, tmp_path / "out.tar").sha256

    assert digest() == digest("usr/bin/sudo")
    assert digest() != digest("usr/bin/su")
