"""Files that are opened without waiting."""

from __future__ import annotations

import errno
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from envbuilder.core.archives.confined_writer import ConfinedWriter
from envbuilder.core.errors import InvalidInput
from envbuilder.core.files import naming, open_regular, read_regular, read_stream, read_text, replacing


@pytest.mark.parametrize(
    "name", ["pipe", "/proc/kmsg", "/proc/self/mem", "/proc/self/environ", "/dev/zero", "/dev/full", "/dev/null", "/"]
)
def test_what_is_no_regular_file_is_refused_at_once(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(
        OSError, match=r"not a regular file|Is a directory|Operation not permitted|Permission denied|No such file"
    ):
        open_regular(tmp_path / name)


def test_a_socket_is_refused(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        with pytest.raises(OSError, match="is not a regular file"):
            open_regular(tmp_path / "s")


def test_a_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"123")
    assert read_regular(tmp_path / "x", 3) == b"123"
    with pytest.raises(OSError, match="more than 2 bytes"):
        read_regular(tmp_path / "x", 2)


def test_a_text_from_a_pipe_is_told_by_its_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match=r"pipe: cannot be read: is not a regular file"):
        read_text(tmp_path / "pipe")


def test_a_stream_that_is_no_text_is_told_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xff\xfe{")
    with (tmp_path / "x").open("rb") as stream, pytest.raises(InvalidInput, match=r"facts: .* not UTF-8"):
        read_stream(stream, "facts")


def test_a_stream_that_fails_is_told_by_its_name(tmp_path: Path) -> None:
    # Reading another process's memory where nothing is mapped gives EIO, as a broken disk does.
    with Path("/proc/self/mem").open("rb", buffering=0) as stream, pytest.raises(InvalidInput, match="Input/output"):
        read_stream(stream, "log")


def test_ends_of_lines_are_those_of_text_files(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"a\r\nb\rc\n")
    assert read_text(tmp_path / "x") == "a\nb\nc\n" == (tmp_path / "x").read_text("utf-8")


@contextmanager
def small_files() -> Iterator[None]:
    """Let no file of this process grow above ten bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_write_that_fails_names_the_directory(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="File too large") as told, small_files(), replacing(tmp_path / "x") as stream:
        stream.write(bytes(100))
    assert told.value.filename == str(tmp_path)
    with ConfinedWriter(tmp_path) as below:  # noqa: SIM117  the limit is only for what is inside
        with pytest.raises(OSError, match="File too large") as told, small_files(), below.file("y", mode=0o644) as file:
            file.write(bytes(100))
    assert told.value.filename == str(tmp_path)


def test_other_errors_keep_their_name(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Input/output") as told, naming(tmp_path):
        raise OSError(errno.EIO, "Input/output error")
    assert told.value.filename is None
