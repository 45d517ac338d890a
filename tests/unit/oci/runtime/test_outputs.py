"""What a command left behind."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from envbuilder.core.errors import VerificationFailed
from envbuilder.oci.runtime.outputs import discard, open_to_all, read_inside, scratch


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "inner"
    (inner / "deep").mkdir(parents=True)
    (inner / "deep/file").write_bytes(b"content")
    (inner / "link").symlink_to("deep/file")
    (inner / "way").symlink_to("deep")
    (inner / "out").symlink_to(tmp_path)
    (tmp_path / "secret").write_bytes(b"secret")
    os.mkfifo(inner / "pipe")
    return inner


def test_a_file_is_read(folder: Path) -> None:
    assert read_inside(folder, "deep/file") == b"content"
    assert read_inside(folder, "./deep//file") == b"content"


@pytest.mark.parametrize(
    "path",
    ["link", "way/file", "out/secret", "../secret", "deep/../../secret", "pipe", "deep", "", "absent", "deep/file/x"],
)
def test_nothing_else_is(path: str, folder: Path) -> None:
    assert read_inside(folder, path) is None


def test_a_file_that_is_too_large_is_refused_unread(folder: Path) -> None:
    with (folder / "huge").open("wb") as huge:
        huge.truncate(1 << 40)
    with pytest.raises(VerificationFailed, match="huge is larger than 1 MiB"):
        read_inside(folder, "huge", limit=1 << 20)
    assert read_inside(folder, "deep/file", limit=7) == b"content"


def _fill_and_stop(folder: Path) -> None:
    (folder / "a/b").mkdir(parents=True)
    (folder / "a/b/c").write_bytes(b"")
    (folder / "link").symlink_to(folder.parent)
    (folder / "a/b").chmod(0)
    raise KeyboardInterrupt


def test_a_scratch_folder_is_removed_whatever_is_in_it(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), scratch(tmp_path / "work") as folder:
        _fill_and_stop(folder)
    assert list((tmp_path / "work").iterdir()) == []


def test_removing_what_is_not_there_is_no_error(tmp_path: Path) -> None:
    discard(tmp_path / "absent")


def test_a_folder_is_opened_to_all_whatever_the_umask(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c").write_text("c")
    (tmp_path / "a/link").symlink_to("/etc/shadow")
    for path, mode in ((tmp_path / "a/b/c", 0o700), (tmp_path / "a/b", 0o700), (tmp_path / "a", 0o700)):
        path.chmod(mode)
    shadow = Path("/etc/shadow").stat().st_mode
    open_to_all(tmp_path / "a")
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b", "a/b/c")] == [0o755, 0o755, 0o744]
    assert Path("/etc/shadow").stat().st_mode == shadow
