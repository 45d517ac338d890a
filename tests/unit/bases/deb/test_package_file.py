"""A .deb is opened without running anything of it."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest

from envbuilder.bases.deb.package_file import DebFile, open_deb
from envbuilder.errors import VerificationFailed
from envbuilder.tar.members import Kind
from tests.unit.bases.deb.debs import Content, ar_of, deb, tar_of

FILES: dict[str, Content] = {
    "usr": None, "usr/bin": None, "usr/bin/toy": b"x" * 70_000, "usr/bin/same": "=usr/bin/toy", "usr/bin/link": "toy",
}  # fmt: skip
CONTROL = tar_of({"control": b"Package: toy\nVersion: 1.0\n"})


def opened(path: Path, tmp_path: Path) -> DebFile:
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    return open_deb(path, "toy 1.0", work)


@pytest.mark.parametrize("packing", ["xz", "gz", ""])
def test_every_packing_of_debian_is_read(tmp_path: Path, packing: str) -> None:
    _, path = deb(tmp_path, "toy", FILES, control={"postinst": b"#!/bin/sh\n"}, fields="Depends: a\n", packing=packing)
    found = opened(path, tmp_path)
    assert found.fields == "Package: toy\nVersion: 1.0\nArchitecture: amd64\nDepends: a"
    assert found.control["postinst"] == b"#!/bin/sh\n"
    members = {member.path: member for member in found.members}
    assert members.keys() == FILES.keys()
    assert members["usr/bin/toy"].read() == FILES["usr/bin/toy"]
    assert members["usr/bin/same"].identity == members["usr/bin/toy"].identity != ""
    assert (members["usr/bin/link"].kind, members["usr/bin/link"].target) == (Kind.SYMLINK, "toy")


def test_two_debs_of_one_name_in_two_folders_do_not_get_mixed_up(tmp_path: Path) -> None:
    found = []
    for number in ("1", "2"):
        (tmp_path / number).mkdir()
        _, path = deb(tmp_path / number, "toy", {"file": number.encode()})
        found.append(opened(path, tmp_path))
    assert [each.members[0].read() for each in found] == [b"1", b"2"]


@pytest.mark.parametrize(
    ("parts", "problem"),
    [
        ({"control.tar.xz": lzma.compress(CONTROL), "data.tar.zst": b"(\xb5/\xfd"}, "packed with zst"),
        ({"control.tar.zst": b"(\xb5/\xfd", "data.tar.xz": b""}, "packed with zst"),
        ({"control.tar.xz": lzma.compress(CONTROL)}, "it has no data.tar"),
        ({"data.tar.xz": lzma.compress(tar_of({}))}, "it has no control.tar"),
        ({"control.tar.xz": lzma.compress(CONTROL), "data.tar.xz": b"nothing"}, "cannot be unpacked"),
        ({"control.tar": tar_of({"md5sums": b""}), "data.tar": tar_of({})}, "does not say what it is"),
        ({"control.tar.gz": b"nothing", "data.tar": tar_of({})}, "cannot be unpacked"),
        ({"control.tar": b"no tar" * 200, "data.tar": tar_of({})}, "cannot be unpacked"),
        ({"control.tar": CONTROL, "data.tar": b"no tar" * 200}, "cannot be unpacked"),
        ({"control.tar": CONTROL, "data.tar.gz": gzip.compress(tar_of(FILES))[:-9]}, "cannot be unpacked"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(tmp_path: Path, parts: dict[str, bytes], problem: str) -> None:
    path = tmp_path / "toy.deb"
    path.write_bytes(ar_of({"debian-binary": b"2.0\n", **parts}))
    with pytest.raises(VerificationFailed, match=problem) as caught:
        opened(path, tmp_path)
    assert caught.value.message.startswith("toy 1.0 cannot be unpacked")
    assert "--debian-mirror" in caught.value.hint


@pytest.mark.parametrize("share", [0.2, 0.6, 0.95])
def test_a_deb_that_was_cut_off_is_refused(tmp_path: Path, share: float) -> None:
    _, path = deb(tmp_path, "toy", {"file": bytes((number * 7919) % 251 for number in range(9000))})
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(VerificationFailed, match="cannot be unpacked"):
        opened(path, tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 a zip", b"!<arch>\n" + b"x" * 60])
def test_what_is_no_deb_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "toy.deb"
    path.write_bytes(content)
    with pytest.raises(VerificationFailed, match="cannot be unpacked"):
        opened(path, tmp_path)
