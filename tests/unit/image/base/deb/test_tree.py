"""Packages become one tree, with what their scripts would have left; none is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from envbuilder.core.errors import VerificationFailed
from envbuilder.image.base.deb.tree import UnpackedTree, added_tree, base_tree
from envbuilder.lock.lock import OsPackagePin
from envbuilder.oci.tar.members import EPOCH, Kind, Member, file_of
from envbuilder.oci.tar.writing import write
from tests.unit.image.base.deb.debs import MTIME, Content, deb

ACCOUNTS: dict[str, Content] = {
    "usr/share/base-passwd/passwd.master": b"root:*:0:0:root:/root:/bin/bash\ndaemon:*:1:1:d:/usr/sbin:/x\n",
    "usr/share/base-passwd/group.master": b"root:*:0:\nshadow:*:42:\n",
}
Debs = list[tuple[OsPackagePin, Path]]


def tree(tmp_path: Path, packages: Debs) -> UnpackedTree:
    return base_tree(packages, work=tmp_path)


def by_path(unpacked: UnpackedTree) -> dict[str, Member]:
    found = {member.path: member for member in unpacked.members}
    assert len(found) == len(unpacked.members)
    return found


def test_old_places_are_links_and_their_files_lie_below_usr(tmp_path: Path) -> None:
    packages = [
        deb(tmp_path, "old", {"bin": None, "bin/sh": b"sh", "lib/x/libc.so": b"c", "sbin/init": b"i", "lib64": None}),
        deb(tmp_path, "new", {"usr": None, "usr/bin": None, "usr/bin/awk": b"awk", "etc/x": b"x"}),
    ]
    found = by_path(tree(tmp_path, packages))
    for name in ("bin", "lib", "lib64", "sbin"):
        assert (found[name].kind, found[name].target) == (Kind.SYMLINK, f"usr/{name}")
        assert found[f"usr/{name}"].kind is Kind.FOLDER
    assert found["usr/bin/sh"].read() == b"sh"
    assert found["usr/lib/x/libc.so"].read() == b"c"
    assert found["usr/sbin/init"].read() == b"i"
    assert found["usr/bin/awk"].read() == b"awk"
    assert not [path for path in found if path.startswith(("bin/", "lib/", "sbin/"))]


def test_every_folder_above_a_file_is_there(tmp_path: Path) -> None:
    found = by_path(tree(tmp_path, [deb(tmp_path, "toy", {"opt/a/b/c": b"1"})]))
    assert {found[path].kind for path in ("opt", "opt/a", "opt/a/b")} == {Kind.FOLDER}


def test_pages_for_readers_stay_out_and_the_rights_stay_in(tmp_path: Path) -> None:
    files: dict[str, Content] = {
        "usr/share/man/man1/toy.1.gz": b"1", "usr/share/info/toy.info": b"2", "usr/share/locale/de/x.mo": b"3",
        "usr/share/locale/locale.alias": b"4", "usr/share/doc/toy/changelog.gz": b"5",
        "usr/share/doc/toy/copyright": b"6", "usr/share/doc/toy": None,
    }  # fmt: skip
    found = by_path(tree(tmp_path, [deb(tmp_path, "toy", files)]))
    kept = {path for path in files if path in found}
    assert kept == {"usr/share/locale/locale.alias", "usr/share/doc/toy/copyright", "usr/share/doc/toy"}
    listed = found["var/lib/dpkg/info/toy.list"].read().decode()
    assert "/usr/share/man/man1/toy.1.gz\n" in listed


def test_accounts_are_base_passwd_s_with_shadows(tmp_path: Path) -> None:
    found = by_path(tree(tmp_path, [deb(tmp_path, "base-passwd", ACCOUNTS)]))
    assert found["etc/passwd"].read().splitlines() == [
        b"root:x:0:0:root:/root:/bin/bash",
        b"daemon:x:1:1:d:/usr/sbin:/x",
        b"_apt:x:100:65534::/nonexistent:/usr/sbin/nologin",
    ]
    assert found["etc/group"].read() == b"root:x:0:\nshadow:x:42:\n"
    shadow = found["etc/shadow"]
    assert (shadow.mode, shadow.gid) == (0o640, 42)
    assert shadow.read().splitlines()[0] == b"root:*:%d:0:99999:7:::" % (EPOCH // 86400)
    assert found["etc/gshadow"].read() == b"root:*::\nshadow:*::\n"


def test_what_scripts_would_have_copied_linked_and_joined(tmp_path: Path) -> None:
    files: dict[str, Content] = {
        "usr/share/base-files/profile": b"profile", "usr/bin/mawk": b"mawk", "usr/share/zoneinfo/Etc/UTC": b"utc",
        "usr/share/ca-certificates/mozilla/b.crt": b"B\n", "usr/share/ca-certificates/mozilla/a.crt": b"A\n",
    }  # fmt: skip
    found = by_path(tree(tmp_path, [deb(tmp_path, "toy", files)]))
    assert found["etc/profile"].read() == b"profile"
    assert found["usr/bin/awk"].target == "/etc/alternatives/awk"
    assert found["etc/alternatives/awk"].target == "/usr/bin/mawk"
    assert found["etc/ssl/certs/ca-certificates.crt"].read() == b"A\nB\n"
    assert found["etc/localtime"].target == "/usr/share/zoneinfo/Etc/UTC"
    assert found["tmp"].mode == 0o1777
    assert "usr/bin/which" not in found
    assert "etc/passwd" not in found


def test_packages_with_scripts_are_unpacked_and_named(tmp_path: Path) -> None:
    packages = [
        deb(tmp_path, "plain", {"a": b"1"}, control={"md5sums": b"sums"}),
        deb(tmp_path, "scripted", {"b": b"2"}, control={"postinst": b"#!/bin/sh\n"}, fields="Multi-Arch: same\n"),
    ]
    unpacked = tree(tmp_path, packages)
    found = by_path(unpacked)
    assert unpacked.unconfigured == ("scripted",)
    plain, scripted = found["var/lib/dpkg/status"].read().decode().split("\n\n")
    assert plain.splitlines()[:3] == ["Package: plain", "Status: install ok installed", "Version: 1.0"]
    assert scripted.splitlines()[:3] == ["Package: scripted", "Status: install ok unpacked", "Version: 1.0"]
    assert found["var/lib/dpkg/info/plain.md5sums"].read() == b"sums"
    assert found["var/lib/dpkg/info/plain.list"].read() == b"/a\n"
    script = found["var/lib/dpkg/info/scripted:amd64.postinst"]
    assert (script.mode, script.read()) == (0o755, b"#!/bin/sh\n")


@pytest.mark.parametrize("other", [b"22", b"2", "y"])
def test_a_file_in_two_packages_is_refused(tmp_path: Path, other: Content) -> None:
    packages = [deb(tmp_path, "one", {"bin/x": b"1"}), deb(tmp_path, "two", {"usr/bin/x": other})]
    with pytest.raises(VerificationFailed, match="/usr/bin/x is in one and in two") as caught:
        tree(tmp_path, packages)
    assert "apt:" in caught.value.hint


def test_a_file_where_another_package_has_a_folder_is_refused(tmp_path: Path) -> None:
    packages = [deb(tmp_path, "one", {"opt": None}), deb(tmp_path, "two", {"opt": b"2"})]
    with pytest.raises(VerificationFailed, match="/opt is in one and in two"):
        tree(tmp_path, packages)


def test_what_two_packages_agree_on_is_fine(tmp_path: Path) -> None:
    files: dict[str, Content] = {"opt/x": "y", "opt/z": b"same"}
    found = by_path(tree(tmp_path, [deb(tmp_path, "one", files), deb(tmp_path, "two", files)]))
    assert (found["opt/x"].target, found["opt/z"].read()) == ("y", b"same")


def test_a_link_that_two_packages_do_not_agree_on_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VerificationFailed, match="/opt/x is in one and in two"):
        tree(tmp_path, [deb(tmp_path, "one", {"opt/x": "y"}), deb(tmp_path, "two", {"opt/x": "z"})])


def test_the_order_of_packages_does_not_matter(tmp_path: Path) -> None:
    packages = [
        deb(tmp_path, "b", {"usr": None, "usr/bin/b": b"1", "usr/bin/hard": "=usr/bin/b"}),
        deb(tmp_path, "a", {"usr": None, "bin/a": b"2"}, packing="gz"),
        deb(tmp_path, "base-passwd", ACCOUNTS, control={"preinst": b"#!/bin/sh\n"}),
    ]
    written = []
    for number, order in enumerate((packages, packages[::-1])):
        work = tmp_path / str(number)
        work.mkdir()
        written.append(write(base_tree(order, work=work).members, work / "out").sha256)
    assert written[0] == written[1]


def test_no_time_stamp_is_later_than_the_epoch(tmp_path: Path) -> None:
    packages = [deb(tmp_path, "old", {"a": b"1"}), deb(tmp_path, "new", {"b": b"1"}, mtime=EPOCH + 5)]
    found = by_path(tree(tmp_path, packages))
    assert (found["a"].mtime, found["b"].mtime) == (MTIME, EPOCH)


def test_a_layer_adds_only_what_is_new_and_extends_the_list(tmp_path: Path) -> None:
    base = tree(tmp_path, [deb(tmp_path, "base", {"usr": None, "usr/bin": None, "usr/bin/sh": b"sh"})]).members
    more = deb(tmp_path, "more", {"usr": None, "usr/bin": None, "bin/more": b"more"}, control={"postinst": b"#!"})
    added = added_tree([more], base, work=tmp_path)
    found = by_path(added)
    assert found.keys() == {
        "usr/bin/more", "var/lib/dpkg/status", "var/lib/dpkg/info/more.list", "var/lib/dpkg/info/more.postinst",
    }  # fmt: skip
    status = found["var/lib/dpkg/status"].read().decode()
    assert [line for line in status.splitlines() if line.startswith(("Package:", "Status:"))] == [
        "Package: base", "Status: install ok installed", "Package: more", "Status: install ok unpacked",
    ]  # fmt: skip
    assert status.count("\n\n") == 1
    assert added.unconfigured == ("more",)


def test_a_layer_on_a_base_without_a_list_begins_one(tmp_path: Path) -> None:
    more = deb(tmp_path, "more", {"opt/x": b"1"})
    found = by_path(added_tree([more], [file_of("etc/x", b"", mtime=1)], work=tmp_path))
    assert found["var/lib/dpkg/status"].read().startswith(b"Package: more\n")
    assert "opt" in found
