"""A Debian package brings its own files, and replaces those of others only where dpkg would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import VerificationFailed
from envbuilder.image.base.deb.tree import added_tree, base_tree
from envbuilder.oci.tar.members import Kind, Member
from tests.unit.image.base.deb.debs import Content, deb

BASE: Mapping[str, Content] = {
    "etc": None, "etc/tool.conf": b"1", "usr/bin/sh": b"sh", "usr/share/a": None, "usr/share/b": "a",
    "var/cache/x": b"x", "srv": "var/cache", "usr/share/loop": "loop",
}  # fmt: skip


def added(
    tmp_path: Path,
    files: Mapping[str, Content],
    *,
    fields: str = "",
    modes: Mapping[str, int] | None = None,
) -> dict[str, Member]:
    base = base_tree([deb(tmp_path, "old", BASE, version="2.0")], work=tmp_path).members
    new = deb(tmp_path, "new", files, fields=fields, modes=modes)
    tree = added_tree([new], base, work=tmp_path)
    return {member.path: member for member in tree.members if not member.path.startswith("var/lib/dpkg/")}


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"etc": "tmp"}, "new contains a link in place of the directory /etc of old"),
        ({"etc": b"1"}, "new contains a file in place of the directory /etc of old"),
        ({"usr/bin": "/tmp/evil"}, "in place of the directory /usr/bin"),
        ({"bin": "/tmp/evil", "bin/sh": b"evil"}, "new replaces /usr/bin/sh of old"),
        ({"usr/bin/sh": b"evil"}, "new replaces /usr/bin/sh of old, without a field `Replaces: old`"),
        ({"bin/sh": b"evil"}, "new replaces /usr/bin/sh of old"),
        ({"usr/bin/sh": "evil"}, "new replaces /usr/bin/sh of old"),
        ({"usr/share/b": "evil"}, "new replaces /usr/share/b of old"),
        ({"usr/bin/sh": None}, "new contains a directory in place of the file /usr/bin/sh of old"),
        ({"usr/bin/sh/x": b"1"}, "lies below /usr/bin/sh, which is a file of the base"),
        ({"etc/machine-id": b"1"}, "new replaces /etc/machine-id of the base, which belongs to no package"),
        ({"usr/share/loop/x": b"1"}, "too many levels of symbolic links"),
        ({"usr/lib/.wh.libc.so.6": b""}, "removes a file of a lower layer"),
        ({"etc/.wh..wh..opq": b""}, "removes a file of a lower layer"),
        ({"opt/venv/lib/python3.8/site-packages/x.pth": b"import x"}, "in a directory that envbuilder writes"),
        ({"opt/python/bin/python3.8": b"evil"}, "in a directory that envbuilder writes"),
        ({"usr/local/bin/env": b"evil"}, "hides the program 'env' of the base"),
        ({"opt/a": "b", "opt/a/c": b"1"}, "contains /opt/a/c, but /opt/a is a file or a link of new"),
    ],
)
def test_what_dpkg_would_not_unpack_is_refused_with_both_names(
    tmp_path: Path, files: Mapping[str, Content], problem: str
) -> None:
    with pytest.raises(VerificationFailed, match=problem) as refused:
        added(tmp_path, files)
    assert "apt:" in refused.value.hint


@pytest.mark.parametrize(
    ("files", "fields", "path"),
    [
        ({"etc": None, "etc/new.conf": b"1"}, "", "etc/new.conf"),
        ({"bin": None, "bin/new": b"1"}, "", "usr/bin/new"),
        ({"usr/bin/sh": b"sh"}, "", "usr/bin/sh"),
        ({"usr/bin/sh": b"2"}, "Replaces: other, old (<< 2.1)\n", "usr/bin/sh"),
        ({"usr/bin/sh": b"2"}, "Replaces: other (<< 9),\n old:any\n", "usr/bin/sh"),
        ({"srv": None, "srv/y": b"1"}, "", "var/cache/y"),
        ({"usr/share/b/y": b"1"}, "", "usr/share/a/y"),
        ({"var/run": None, "var/run/y": b"1"}, "", "run/y"),
        ({"usr/local/bin": None, "usr/bin/env": b"1"}, "", "usr/bin/env"),
    ],
    ids=["folder", "merged-usr", "equal", "replaces", "replaces-on-two-lines", "link", "relative-link", "run", "new"],
)
def test_what_dpkg_unpacks_is_at_the_place_where_dpkg_puts_it(
    tmp_path: Path, files: Mapping[str, Content], fields: str, path: str
) -> None:
    found = added(tmp_path, files, fields=fields)
    assert found[path].kind is Kind.FILE
    assert not {"etc", "srv", "var/run", "bin", "usr/bin", "usr/share/b"} & found.keys()


@pytest.mark.parametrize("fields", ["Replaces: old (<< 2.0)\n", "Replaces: older\n", "Conflicts: old\n"])
def test_replaces_of_another_version_or_package_allows_nothing(tmp_path: Path, fields: str) -> None:
    with pytest.raises(VerificationFailed, match="new replaces /usr/bin/sh of old"):
        added(tmp_path, {"usr/bin/sh": b"2"}, fields=fields)


@pytest.mark.parametrize("path", ["usr/bin/python3.11", "usr/bin/python3", "usr/lib/python3.11/os.py"])
def test_the_interpreter_is_replaced_by_its_own_package_only(tmp_path: Path, path: str) -> None:
    work = tmp_path / "work"
    work.mkdir()
    base = base_tree([deb(tmp_path, "python3.11", {path: b"1"})], work=work).members
    evil = deb(tmp_path, "evil", {path: b"2"}, fields="Replaces: python3.11\n")
    with pytest.raises(VerificationFailed, match=r"evil replaces /.* of python3\.11, a part of the interpreter"):
        added_tree([evil], base, work=work)
    newer = deb(tmp_path, "python3.11", {path: b"2"}, version="2.0")
    assert path in {member.path for member in added_tree([newer], base, work=work).members}


@pytest.mark.parametrize("replacing", ["a", "b"])
def test_of_two_packages_the_one_that_replaces_the_other_wins(tmp_path: Path, replacing: str) -> None:
    other = "b" if replacing == "a" else "a"
    packages = [
        deb(tmp_path, replacing, {"opt/x": b"winner"}, fields=f"Replaces: {other}\n"),
        deb(tmp_path, other, {"opt/x": b"loser"}),
    ]
    found = {member.path: member for member in base_tree(packages, work=tmp_path).members}
    assert found["opt/x"].read() == b"winner"


@pytest.mark.parametrize(("name", "version"), [("libc6", "1.0"), ("toy", "9")])
def test_a_deb_of_another_package_than_its_pin_is_refused(tmp_path: Path, name: str, version: str) -> None:
    pin, path = deb(tmp_path, "toy", {"opt/x": b"1"})
    with pytest.raises(VerificationFailed, match=r"pool/toy_1\.0\.deb is toy 1\.0, the lock has "):
        base_tree([(replace(pin, name=name, version=version), path)], work=tmp_path)


def test_a_base_is_held_to_the_same_names(tmp_path: Path) -> None:
    with pytest.raises(VerificationFailed, match=r"toy contains /.*removes a file"):
        base_tree([deb(tmp_path, "toy", {"usr/bin/.wh.python3": b""})], work=tmp_path)
    with pytest.raises(VerificationFailed, match=r"/etc is in evil and in old"):
        base_tree([deb(tmp_path, "old", {"etc": None}), deb(tmp_path, "evil", {"etc": "tmp"})], work=tmp_path)
