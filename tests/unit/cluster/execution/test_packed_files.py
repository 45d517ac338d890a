"""A directory of text files survives being sent, and no path leads out of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.cluster.execution.packed_files import pack_files, read_files, unpack_files, write_files

_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.dictionaries(_TEXT, _TEXT))
def test_packed_files_are_unpacked_unchanged(files: dict[str, str]) -> None:
    assert unpack_files(pack_files(files)) == files


def test_written_files_are_read_again(tmp_path: Path) -> None:
    files = {"a.yaml": "x: ä\n", "b/c/d.yaml": ""}
    write_files(tmp_path, files)
    (tmp_path / "link").symlink_to("a.yaml")
    (tmp_path / ".a.yaml.part").write_text("unfinished", encoding="utf-8")
    assert read_files(tmp_path) == files


@pytest.mark.parametrize("path", ["../a", "/etc/a", "b/../../a"])
def test_a_path_out_of_the_directory_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(ValueError, match="not a relative path"):
        write_files(tmp_path / "inside", {path: "x"})


@pytest.mark.parametrize("content", [b"", b"x", b"{}"])
def test_what_is_not_packed_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        unpack_files(content)
