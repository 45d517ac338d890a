"""A .deb is opened without running anything of it."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest

from envbuilder.core.errors import VerificationFailed
from envbuilder.image.base.deb.package_file import DebFile, open_deb
from envbuilder.oci.tar.members import Kind
from tests.unit.image.base.deb.debs import Content, ar_of, deb, tar_of

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
        ({"control.tar.xz": lzma.compress(CONTROL)}, "it has 0 parts data.tar"),
        ({"data.tar.xz": lzma.compress(tar_of({}))}, "it has 0 parts control.tar"),
        ({"control.tar.xz": lzma.compress(CONTROL), "data.tar.xz": b"nothing"}, "cannot be unpacked"),
        ({"control.tar": tar_of({"md5sums": b""}), "data.tar": tar_of({})}, "lacks Package or Version"),
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


def part(name: str, size: object, data: bytes = b"") -> bytes:
    return f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{size:<10}`\n".encode() + data


@pytest.mark.parametrize(
    "parts",
    [
        part("debian-binary", -60) + b"x" * 100,
        part("debian-binary", 9_999_999_999) + b"x" * 100,
        part("debian-binary", "0x4") + b"2.0\n",
        part("debian-binary", 4)[:-2] + b"xx2.0\n",
        part("debian-binary", 0) * 2,
        b"".join(part(f"part{number}", 0) for number in range(20)),
        part("data.tar", len(tar_of({})), tar_of({}))
        + part("data.tar.gz", 2, b"xx")
        + part("control.tar", 512, CONTROL),
        part("debian-binary", 4, b"3.0\n")
        + part("control.tar", 512, CONTROL)
        + part("data.tar", len(tar_of({})), tar_of({})),
        part("control.tar", 512, CONTROL) + part("data.tar", len(tar_of({})), tar_of({})),
    ],
    ids=["negative", "huge", "hexadecimal", "no-header", "twice", "many", "two-kinds", "other-format", "no-format"],
)
def test_parts_that_cannot_be_true_are_refused(tmp_path: Path, parts: bytes) -> None:
    path = tmp_path / "toy.deb"
    path.write_bytes(b"!<arch>\n" + parts)
    with pytest.raises(VerificationFailed, match="cannot be unpacked"):
        opened(path, tmp_path)


@pytest.mark.parametrize(
    "files",
    [
        {"usr/lib/x86_64-linux-gnu/../../../../evil": b"evil"},
        {"../evil": b"evil"},
        {"opt/python/../../evil": b"evil"},
        {"usr/link": "=../../etc/shadow"},
        {"usr/link": "=usr/missing"},
        {"usr/" + "a" * 300: b""},
    ],
    ids=["below-a-library", "up", "below-python", "link-out", "link-to-nothing", "long"],
)
def test_a_path_that_leads_out_is_refused(tmp_path: Path, files: dict[str, Content]) -> None:
    _, path = deb(tmp_path, "toy", files)
    with pytest.raises(VerificationFailed, match=r"toy 1\.0 cannot be unpacked"):
        opened(path, tmp_path)


def test_an_absolute_path_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "toy.deb"
    data = tar_of({"etc/evil": b"x"}).replace(b"./etc/evil", b"/etc/evil\0")
    broken = sum(b"./etc/evil") - sum(b"/etc/evil\0")
    checksum = int(data[148:154], 8) - broken
    data = data[:148] + b"%06o" % checksum + data[154:]
    path.write_bytes(ar_of({"debian-binary": b"2.0\n", "control.tar": CONTROL, "data.tar": data}))
    with pytest.raises(VerificationFailed, match="'/etc/evil' leads outside"):
        opened(path, tmp_path)


def test_what_a_package_says_about_itself_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "toy.deb"
    control = lzma.compress(tar_of({"md5sums": bytes(65 << 20)}), preset=0)
    path.write_bytes(ar_of({"debian-binary": b"2.0\n", "control.tar.xz": control, "data.tar": tar_of({})}))
    with pytest.raises(VerificationFailed, match="no more than 16777216 are unpacked"):
        opened(path, tmp_path)


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
