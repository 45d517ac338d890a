"""Reports of opened files, of a directory that is watched as a sandbox watches those of its root."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest

from envbuilder.core.errors import UsageError
from envbuilder.oci.runtime.file_watch import WATCHED, watching
from envbuilder.oci.runtime.runc import Runc
from envbuilder.oci.runtime.sandbox import Task

_OPENED = 0x20


def test_opened_files_have_the_path_of_their_directory_in_the_root(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("one", "two words", "deep/three", "untouched"):
        (tmp_path / name).touch()
    opened = set[str]()
    with watching(opened.add, tmp_path / WATCHED) as watch:
        assert watch is not None
        lines = []
        for folder, shown in ((tmp_path, "/"), (tmp_path / "deep", "/usr/deep")):
            number = ctypes.CDLL(None).inotify_add_watch(watch.number, os.fsencode(folder), _OPENED)
            lines.append(f"{number} {shown}\0")
        watch.folders.write_text("".join(lines))
        for name in ("one", "two words", "deep/three", "one"):
            (tmp_path / name).read_bytes()
        # Opening a directory is no read of a file.
        os.listdir(tmp_path / "deep")  # noqa: PTH208
    assert opened - {f"/{WATCHED}"} == {"/one", "/two words", "/usr/deep/three"}


def test_without_a_receiver_nothing_is_watched(tmp_path: Path) -> None:
    with watching(None, tmp_path / WATCHED) as watch:
        assert watch is None


def test_a_queue_is_closed_after_an_error(tmp_path: Path) -> None:
    number = -1
    with pytest.raises(RuntimeError, match="of the command"), watching(print, tmp_path / WATCHED) as watch:  # noqa: PT012
        assert watch is not None
        number = watch.number
        raise RuntimeError("of the command")
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_runc_refuses_to_report(tmp_path: Path) -> None:
    way = Runc(program="runc", version="1", work=tmp_path, as_root=True)
    task = Task(tree=tmp_path, command=("x",), opened=print)
    with pytest.raises(UsageError, match="does not report which files a command opens"):
        way.run(task)
