"""Wheels as zip files: what is refused, and what is left behind."""

from __future__ import annotations

import errno
import zipfile
from pathlib import Path

import pytest

from envbuilder.core.errors import DiskFull, InvalidInput
from envbuilder.curation.wheel_audit.wheel_archive import WheelArchive, open_wheel
from tests.unit.curation.wheel_audit.wheels import wheel


def claiming(path: Path, sizes: dict[str, int]) -> Path:
    """A zip file whose directory claims these sizes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, size in sizes.items():
            archive.writestr(name, "text")
            archive.filelist[-1].file_size = size
    return path


def test_members_are_told_sorted_and_without_folders(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        archive.writestr("b/c.txt", "x")
        archive.writestr("b/", "")
        archive.writestr("a.txt", "yy")
    with open_wheel(tmp_path / "a.whl") as opened:
        assert opened.names == ("a.txt", "b/c.txt")
        assert opened.size("a.txt") == 2
        assert opened.text("a.txt") == "yy"


def test_an_unpacked_member_is_gone_when_the_block_ends(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    with (
        open_wheel(wheel(tmp_path, {"lib.so": b"x" * 3_000_000})) as archive,
        archive.unpacked("lib.so", work) as stream,
    ):
        assert stream.read() == b"x" * 3_000_000
    assert list(work.iterdir()) == []


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04" + bytes(30), b"PK\x05\x06" + b"\xff" * 18])
def test_what_is_no_zip_file_is_no_wheel(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.whl"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"a\.whl: is not a wheel"), open_wheel(path):
        pass


def test_a_file_that_is_not_there_is_told_without_advice_on_hashes(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read: No such file") as caught, open_wheel(tmp_path / "a.whl"):
        pass
    assert caught.value.hint == ""


def test_a_cut_off_wheel_is_damaged(tmp_path: Path) -> None:
    path = wheel(tmp_path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InvalidInput) as caught, open_wheel(path):
        pass
    assert "sha256" in caught.value.hint


def test_a_member_that_is_not_what_its_checksum_says_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "a.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("lib.so", b"ELF" * 100)
    path.write_bytes(path.read_bytes().replace(b"ELFELF", b"FLEFLE", 1))
    with open_wheel(path) as opened:
        with pytest.raises(InvalidInput, match=r"lib\.so: cannot be unpacked: Bad CRC-32"):
            opened.text("lib.so")
        with pytest.raises(InvalidInput, match="Bad CRC-32"), opened.unpacked("lib.so", tmp_path):
            pass


def test_a_member_with_more_in_it_than_it_claims_is_damaged(tmp_path: Path) -> None:
    with (
        open_wheel(claiming(tmp_path / "a.whl", {"lib.so": 2})) as opened,
        pytest.raises(InvalidInput, match="cannot be unpacked"),
        opened.unpacked("lib.so", tmp_path),
    ):
        pass


def test_absurd_sizes_are_refused_before_anything_is_unpacked(tmp_path: Path) -> None:
    with open_wheel(claiming(tmp_path / "a.whl", {"lib.so": 9 << 30})) as opened:
        with pytest.raises(InvalidInput, match="claims to have 9663676416 bytes"):
            opened.text("lib.so")
        with pytest.raises(InvalidInput, match="claims to have 9663676416 bytes"), opened.unpacked("lib.so", tmp_path):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["a.whl"]


def test_a_wheel_of_absurd_size_is_refused_as_a_whole(tmp_path: Path) -> None:
    path = claiming(tmp_path / "a.whl", {f"{number}.so": 7 << 30 for number in range(5)})
    with pytest.raises(InvalidInput, match="claims to have 37580963840 bytes"), open_wheel(path):
        pass


def test_text_that_is_not_utf8_is_damaged(tmp_path: Path) -> None:
    with open_wheel(wheel(tmp_path, {"a.txt": b"\xff\xfe"})) as opened, pytest.raises(InvalidInput, match=r"a\.txt"):
        opened.text("a.txt")


def test_an_encrypted_member_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "x")
        archive.filelist[-1].flag_bits |= 1
    with open_wheel(path) as opened, pytest.raises(InvalidInput, match="encrypted"):
        opened.text("a.txt")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_told_apart_from_damage(tmp_path: Path, number: int) -> None:
    with zipfile.ZipFile(wheel(tmp_path, {"lib.so": b"x"})) as archive:
        opened = WheelArchive("a.whl", archive)
        with pytest.raises(DiskFull, match=r"lib\.so, 1 bytes"), opened._damage("lib.so"):
            raise OSError(number, "full")
        with pytest.raises(InvalidInput, match="Input/output"), opened._damage("lib.so"):
            raise OSError(errno.EIO, "Input/output error")
