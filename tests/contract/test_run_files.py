"""Run files that makeself itself wrote are read; it is a program of the distribution."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from envbuilder.core.archives.makeself import members, read_header, stream_of
from envbuilder.core.archives.member_names import BadArchive
from tests.contract.conftest import REQUIRED

CONTENT = b"library\n" * 5000


def made(folder: Path, name: str, *options: str) -> Path:
    """A run file of a directory."""
    program = shutil.which("makeself") or shutil.which("makeself.sh")
    if program is None:
        (pytest.fail if REQUIRED else pytest.skip)("makeself is not installed")
    run = folder.parent / name
    command = [program, "--quiet", "--notemp", *options, str(folder), str(run), "toolkit", "true"]
    subprocess.run(command, check=True, capture_output=True)
    return run


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A directory with a library and its link."""
    folder = tmp_path / "pkg"
    (folder / "lib64").mkdir(parents=True)
    (folder / "lib64/libx.so.9.0.176").write_bytes(CONTENT)
    (folder / "lib64/libx.so.9.0").symlink_to("libx.so.9.0.176")
    return folder


def read(run: Path) -> dict[str, bytes | str]:
    """The files and links of a run file."""
    with run.open("rb") as stream:
        return {
            entry.path: entry.target or b"".join(tar.content())
            for entry, tar in members(stream, run.stat().st_size)
            if entry.target or entry.size
        }


@pytest.mark.parametrize(
    "options",
    [(), ("--nocomp",), ("--bzip2",), ("--xz",), ("--nomd5",), ("--nocrc",), ("--nomd5", "--nocrc"), ("--sha256",)],
    ids=" ".join,
)
def test_a_run_file_of_makeself_is_read(tree: Path, options: tuple[str, ...]) -> None:
    assert read(made(tree, "toolkit.run", *options)) == {
        "lib64/libx.so.9.0": "libx.so.9.0.176",
        "lib64/libx.so.9.0.176": CONTENT,
    }


@pytest.mark.parametrize(
    "options", [("--nomd5", "--nocomp"), ("--nocrc", "--nocomp"), ("--sha256", "--nocomp")], ids=" ".join
)
def test_its_checksums_are_verified(tree: Path, options: tuple[str, ...]) -> None:
    run = made(tree, "toolkit.run", *options)
    run.write_bytes(run.read_bytes().replace(CONTENT, CONTENT[:-1] + b"X"))
    with pytest.raises(BadArchive, match="its header states"):
        read(run)


def test_a_license_in_the_header_moves_the_archive(tree: Path) -> None:
    text = tree.parent / "EULA.txt"
    text.write_text("filesizes of a license\n" * 3000, encoding="utf-8")
    run = made(tree, "toolkit.run", "--license", str(text))
    with run.open("rb") as stream:
        assert read_header(stream).size > text.stat().st_size
    assert read(run)["lib64/libx.so.9.0.176"] == CONTENT


def test_a_run_file_inside_another_is_read_as_a_stream(tree: Path, tmp_path: Path) -> None:
    inner = made(tree, "inner.run")
    outer = tmp_path / "outer"
    (outer / "run_files").mkdir(parents=True)
    inner.rename(outer / "run_files/inner.run")
    run = made(outer, "outer.run", "--nocomp")
    with run.open("rb") as stream:
        for entry, tar in members(stream, run.stat().st_size):
            if entry.path == "run_files/inner.run":
                nested = members(stream_of(tar.content()), entry.size)
                assert {each.path: b"".join(it.content()) for each, it in nested if each.size} == {
                    "lib64/libx.so.9.0.176": CONTENT
                }
                return
    raise AssertionError("the inner run file was not found")
