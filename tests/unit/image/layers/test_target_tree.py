"""The tree that an interpreter of an image is run from lies below its folder, whatever the image says."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import VerificationFailed
from envbuilder.image.layers.image_python import unpacked
from envbuilder.oci.store import Store
from envbuilder.oci.tar.members import Kind, Member, file_of

LIB = "usr/lib/x86_64-linux-gnu"
KEY = "sha256:" + "0" * 64


def link(path: str, target: str) -> Member:
    return Member(path=path, kind=Kind.SYMLINK, mode=0o777, mtime=0, target=target)


def folder(path: str) -> Member:
    return Member(path=path, kind=Kind.FOLDER, mode=0o755, mtime=0)


def tree(tmp_path: Path, *members: Member) -> Path:
    return unpacked(members, Store(folder=tmp_path / "store"), KEY)


def test_files_links_and_hard_links_are_there_with_their_x(tmp_path: Path) -> None:
    program = replace(file_of("opt/python/bin/python3.8", b"p", mtime=0, mode=0o4755), identity="1")
    root = tree(
        tmp_path,
        link("lib", "usr/lib"),
        folder("lib"),
        program,
        replace(program, path="opt/python/bin/python3"),
        link(f"{LIB}/libx.so", "/usr/lib/x86_64-linux-gnu/libx.so.1"),
        file_of(f"{LIB}/libx.so.1", b"x", mtime=0),
        file_of("usr/share/doc/x", b"not needed", mtime=0),
    )
    assert (root / "lib").is_symlink()
    assert (root / LIB / "libx.so").readlink() == Path("libx.so.1")
    assert (root / "opt/python/bin/python3").samefile(root / "opt/python/bin/python3.8")
    assert (root / "opt/python/bin/python3").stat().st_mode & 0o7777 == 0o755
    assert not (root / "usr/share").exists()


def test_a_file_that_became_shorter_is_no_part_of_a_tree(tmp_path: Path) -> None:
    short = replace(file_of(f"{LIB}/libx.so.1", b"library", mtime=0), size=8)
    with pytest.raises(VerificationFailed, match=r"libx\.so\.1 became shorter"):
        tree(tmp_path, short)
    assert not list((tmp_path / "store" / "targets").glob("[!.]*"))


def test_a_file_of_a_layer_above_replaces_a_link_and_is_not_written_through_it(tmp_path: Path) -> None:
    root = tree(
        tmp_path, file_of(f"{LIB}/old", b"old", mtime=0), link(f"{LIB}/x", "old"), file_of(f"{LIB}/x", b"new", mtime=0)
    )
    assert ((root / LIB / "x").read_bytes(), (root / LIB / "old").read_bytes()) == (b"new", b"old")


@pytest.mark.parametrize("up", ["../" * 40, "/"])
def test_nothing_is_written_through_a_link_that_leads_out(tmp_path: Path, up: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    with pytest.raises(VerificationFailed, match="is a link or a file"):
        tree(tmp_path, link(f"{LIB}/x", f"{up}{outside}"), file_of(f"{LIB}/x/evil", b"evil", mtime=0))
    assert not any(outside.iterdir())
    assert not any((tmp_path / "store" / "targets").iterdir())


@pytest.mark.parametrize("path", [f"{LIB}/../../../../../evil", "opt/python/../../../../evil", "lib/../../evil"])
def test_nothing_is_written_outside(tmp_path: Path, path: str) -> None:
    with pytest.raises(VerificationFailed, match="leads outside"):
        tree(tmp_path, file_of(path, b"evil", mtime=0))
    assert [each.name for each in tmp_path.iterdir()] == ["store"]
    assert not list(tmp_path.rglob("evil"))


def test_links_of_the_image_never_lead_out_of_the_folder(tmp_path: Path) -> None:
    root = tree(
        tmp_path, link(f"{LIB}/a", "../" * 40 + "etc/passwd"), link(f"{LIB}/b", "/etc/passwd"), link("lib", "../..")
    )
    for path in (f"{LIB}/a", f"{LIB}/b", "lib"):
        assert Path(os.path.realpath(root / path)).is_relative_to(root.resolve())
