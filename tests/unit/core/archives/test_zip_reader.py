"""The directory of a zip says the truth about places, sizes and names, or the zip is refused."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from envbuilder.core.archives.extraction import extract
from envbuilder.core.archives.limits import ArchiveLimits
from envbuilder.core.archives.member_names import BadArchive
from envbuilder.core.archives.zip_reader import opened
from tests.unit.core.archives.hostile import ZipPart, deflated, zipped

TEXT = b"text " * 100
PACKED = deflated(TEXT)

BAD = {
    "two members over one stream": [
        ZipPart(name=b"a", data=PACKED, size=500, method=8), ZipPart(name=b"b", data=PACKED, size=500, method=8, at=0),
    ],
    "a member in another": [ZipPart(name=b"a", data=TEXT, size=600, packed=600), ZipPart(name=b"b", data=TEXT)],
    "stored and longer than it is": [ZipPart(name=b"a", data=b"0123456789", size=1000)],
    "stored and longer than the file": [ZipPart(name=b"a", data=b"0123456789", size=1 << 20, packed=1 << 20)],
    "more than deflate can pack": [ZipPart(name=b"a", data=PACKED, size=4_000_000_000, method=8)],
    "an unusual method": [ZipPart(name=b"a", data=TEXT, method=12)],
    "NUL in a name": [ZipPart(name=b"a\0b", data=TEXT)],
    "another name in front of the content": [ZipPart(name=b"a", data=TEXT, local=b"b")],
    "one path twice": [ZipPart(name=b"a", data=TEXT), ZipPart(name=b"a", data=TEXT)],
    "a path that leads out": [ZipPart(name=b"../a", data=TEXT)],
    "a path with a backslash": [ZipPart(name=b"..\\a", data=TEXT)],
    "a path that is too long": [ZipPart(name=b"a" * 300, data=TEXT)],
    "60 GiB and more": [ZipPart(name=b"%d" % n, data=bytes(4 << 20), size=(4 << 30) - 1, method=8) for n in range(3)],
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(BAD))
def test_a_directory_that_cannot_be_true_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zipped(BAD[name]))
    with pytest.raises(BadArchive), opened(path):
        pass


def test_a_zip_that_claims_another_number_of_members_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    content = zipped([ZipPart(name=b"a", data=TEXT)])
    path.write_bytes(content[:-14] + bytes((9, 0)) + bytes((9, 0)) + content[-10:])
    with pytest.raises(BadArchive, match="claims 9 members and has 1"), opened(path):
        pass


@pytest.mark.parametrize(
    "part",
    [
        ZipPart(name=b"a", data=TEXT, crc=0xDEADBEEF),
        ZipPart(name=b"a", data=PACKED, size=500, crc=0xDEADBEEF, method=8),
        ZipPart(name=b"a", data=deflated(bytes(1 << 20)), size=10, method=8),
        ZipPart(name=b"a", data=b"no deflate stream", size=100, method=8),
    ],
    ids=["stored", "deflated", "longer", "garbage"],
)
def test_a_member_that_is_not_what_the_directory_says_is_refused(tmp_path: Path, part: ZipPart) -> None:
    path, target = tmp_path / "a.zip", tmp_path / "target"
    target.mkdir()
    path.write_bytes(zipped([part]))
    with pytest.raises(BadArchive):
        extract(path, target)


def test_a_directory_of_absurd_size_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    small = zipped([ZipPart(name=b"a", data=TEXT)])
    path.write_bytes(small[:-10] + struct.pack("<II", 1 << 30, 0) + b"\0\0")
    with pytest.raises(BadArchive, match="its directory has 1073741824 bytes"), opened(path):
        pass
    end64 = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, 1 << 40, 0)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, len(small) - 22, 1)
    path.write_bytes(small[:-22] + end64 + locator + small[-22:-10] + b"\xff" * 8 + b"\0\0")
    with pytest.raises(BadArchive, match="its directory has 1099511627776 bytes"), opened(path):
        pass


def test_a_zip_of_more_members_than_allowed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zipped(ZipPart(name=b"%d" % number, data=b"") for number in range(4)))
    with opened(path, ArchiveLimits(members=4)) as content:
        assert len(content.members) == 4
    with pytest.raises(BadArchive, match="more than 3 members"), opened(path, ArchiveLimits(members=3)):
        pass


def test_an_honest_zip_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    parts = [
        ZipPart(name=b"d/", data=b""),
        ZipPart(name=b"d/a", data=TEXT),
        ZipPart(name=b"b", data=PACKED, size=500, crc=0, method=8),
    ]
    path.write_bytes(b"#!/bin/sh\n" + zipped(parts))
    with opened(path) as content:
        assert [info.filename for info in content.members] == ["d/", "d/a", "b"]
        data = path.read_bytes()
        assert [data[content.offset(info) :][: info.compress_size] for info in content.members] == [b"", TEXT, PACKED]
