"""uv is run with our settings over those of the process, and what it says of the index is understood."""

from __future__ import annotations

import os
import re
import select
import socket
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from envbuilder.core.errors import DiskFull, MachineError, SourceUnreachable, ToolFailed
from envbuilder.core.http.failures import CLOCK
from envbuilder.core.uv import Uv, index_is_silent, read_pylock, uv_environ
from envbuilder.image.base.uv_tool import find_uv


def program(folder: Path, script: str) -> Path:
    path = folder / "uv"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_an_interpreter_is_looked_for_once(tmp_path: Path) -> None:
    asked, python = tmp_path / "asked", tmp_path.resolve() / "python3"
    answer = program(tmp_path, f'echo "$*" >> {asked}; test $# = 3 && echo {python}')
    uv = Uv(program=answer, cache=tmp_path, environ={})
    own = replace(uv, cache=tmp_path / "own")
    assert [each.find_python("3.6") for each in (uv, uv, own)] == [python] * 3
    assert asked.read_text("utf-8").splitlines() == [
        "python find --no-project 3.6", "python find --no-project",
    ]  # fmt: skip


def test_success_says_nothing_and_failure_what_was_written(tmp_path: Path) -> None:
    assert Uv(program=program(tmp_path, "echo noise >&2"), cache=tmp_path, environ={}).run([]) is None
    assert Uv(program=program(tmp_path, "echo '  why' >&2; exit 2"), cache=tmp_path, environ={}).run([]) == "  why"


def test_own_settings_go_before_those_of_the_process(tmp_path: Path) -> None:
    script = 'echo "$UV_CACHE_DIR $UV_PYTHON_DOWNLOADS $UV_DEFAULT_INDEX $KEPT $1" > "$OUT"'
    environ = {"UV_CACHE_DIR": "/theirs", "UV_DEFAULT_INDEX": "https://theirs.example", "KEPT": "kept"}
    said = tmp_path / "said"
    for index, expected in (("", "https://theirs.example"), ("https://ours.example", "https://ours.example")):
        own = {**environ, "OUT": str(said)}
        Uv(program=program(tmp_path, script), cache=Path("/ours"), environ=own, index=index).run(["pip"])
        assert said.read_text(encoding="utf-8").split() == ["/ours", "never", expected, "kept", "pip"]


def test_a_program_that_does_not_end_is_unreachable(tmp_path: Path) -> None:
    uv = Uv(program=program(tmp_path, "exec sleep 5"), cache=tmp_path, environ={"PATH": "/usr/bin:/bin"})
    with pytest.raises(SourceUnreachable, match="did not answer"):
        uv.run([], timeout=0.2)


def test_a_program_that_makes_no_progress_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    reader = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
    script = f"sleep 600 3> {held} & wait"
    uv = Uv(program=program(tmp_path, script), cache=tmp_path, environ={"PATH": "/usr/bin:/bin"})
    with pytest.raises(SourceUnreachable, match="no progress for 0 seconds") as caught:
        uv.run([], silence=0.3)
    assert "--index URL" in caught.value.hint
    os.close(os.open(held, os.O_WRONLY))  # a pipe that was never opened for writing has no end
    assert select.select([reader], [], [], 60.0)[0], "somebody still holds the other end"
    os.close(reader)


def test_an_index_that_sends_the_head_of_its_answer_byte_by_byte_ends_uv(tmp_path: Path) -> None:
    def drip(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while not done.wait(0.05):
            connection.sendall(b"X")

    def serve() -> None:
        with suppress(OSError):
            connection, _ = server.accept()
            with connection:
                drip(connection)

    done = threading.Event()
    wanted = tmp_path / "requirements.in"
    wanted.write_text("tinypkg==1.0\n", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(SourceUnreachable, match="no progress"):
            Uv(
                program=find_uv(),
                cache=tmp_path / "cache",
                environ={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
                index=f"http://127.0.0.1:{server.getsockname()[1]}/simple",
            ).run(["pip", "compile", str(wanted), "--no-deps", "--quiet"], silence=1.0)
        done.set()
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize(
    ("said", "silent"), [("error: dns error", True), ("Caused by: operation timed out", True), ("No solution", False)]
)
def test_an_index_that_does_not_answer_is_told_from_other_failures(said: str, silent: bool) -> None:
    assert index_is_silent(said) is silent


@pytest.mark.parametrize(
    ("script", "kind", "words"),
    [
        (
            "echo 'No space left on device (os error 28)' >&2; exit 2",
            DiskFull,
            "no room left in /cache or",
        ),
        ("echo 'File too large (os error 27)' >&2; exit 2", DiskFull, "no room left"),
        ("kill -XFSZ $$", DiskFull, "no room left"),
        ("echo 'Too many open files (os error 24)' >&2; exit 2", MachineError, "Too many open files"),
        ("echo 'Os { code: 11, kind: WouldBlock }' >&2; exit 101", MachineError, "temporarily unavailable"),
        ("echo 'memory allocation of 4096 bytes failed' >&2; kill -ABRT $$", MachineError, "allocate memory"),
        ("kill -KILL $$", ToolFailed, "terminated by SIGKILL"),
        ("echo 'error sending request: invalid peer certificate: Expired' >&2; exit 2", SourceUnreachable, CLOCK),
        ("echo 'invalid peer certificate: certificate not valid yet: at' >&2; exit 2", SourceUnreachable, CLOCK),
    ],
)
def test_what_this_machine_refuses_to_uv_is_told_as_that(
    tmp_path: Path, script: str, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=re.escape(words)):
        Uv(program=program(tmp_path, script), cache=Path("/cache"), environ={"PATH": "/usr/bin:/bin"}).run([])


def test_a_network_that_is_down_is_no_fault_of_this_machine(tmp_path: Path) -> None:
    script = "echo 'error sending request: Connection refused (os error 111)' >&2; exit 2"
    said = Uv(program=program(tmp_path, script), cache=tmp_path, environ={"PATH": "/usr/bin:/bin"}).run([])
    assert said is not None
    assert index_is_silent(said)


def test_the_settings_of_the_user_are_named_and_nothing_else_is_read(tmp_path: Path) -> None:
    settings = tmp_path / ".config" / "uv" / "uv.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("", encoding="utf-8")
    environ = {"HOME": str(tmp_path), "KEPT": "kept"}
    assert uv_environ(environ) == {**environ, "UV_CONFIG_FILE": str(settings)}
    assert uv_environ({**environ, "XDG_CONFIG_HOME": str(settings.parents[1])})["UV_CONFIG_FILE"] == str(settings)


@pytest.mark.parametrize("switch", ["1", "true"])
def test_a_user_who_wants_no_settings_gets_none(tmp_path: Path, switch: str) -> None:
    settings = tmp_path / "uv.toml"
    settings.write_text("", encoding="utf-8")
    environ = uv_environ({"UV_CONFIG_FILE": str(settings), "UV_NO_CONFIG": switch})
    assert environ == {"UV_NO_CONFIG": "1"}
    assert uv_environ({"UV_CONFIG_FILE": str(settings)}) == {"UV_CONFIG_FILE": str(settings)}


def test_a_named_settings_file_that_is_missing_is_not_replaced_by_those_of_the_directory(tmp_path: Path) -> None:
    gone = {"UV_CONFIG_FILE": str(tmp_path / "gone.toml")}
    assert uv_environ(gone) == gone


@pytest.mark.parametrize("text", ["x = " + "9" * 5000, "x = " + "[" * 100_000, "x", 'x = "\\ud800"'])
def test_an_answer_that_is_no_lock_file_is_told_as_such(text: str) -> None:
    with pytest.raises(ToolFailed, match="has an unknown format"):
        read_pylock(text)
