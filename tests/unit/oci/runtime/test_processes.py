"""Waiting for processes that write too much, or not at all."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import closing
from pathlib import Path

import pytest

from envbuilder.core.errors import ToolFailed
from envbuilder.oci.runtime.cancellation import EventCancellation, cancellable_sandbox
from envbuilder.oci.runtime.command import Console, RunResult
from envbuilder.oci.runtime.processes import KILLED, wait_for
from envbuilder.oci.runtime.sandbox import Limits, Task
from envbuilder.oci.runtime.task_processes import result_of
from envbuilder.oci.runtime.unconfined import Unconfined

MIB = 1 << 20


def shell(script: str, **more: object) -> RunResult:
    fields: dict[str, object] = {"timeout": math.inf, "environ": {"PATH": "/usr/bin:/bin"}, **more}
    return wait_for(("/bin/sh", "-c", script), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("script", ["yes", "yes >&2", "yes & yes >&2"])
def test_a_process_that_writes_without_end_is_killed(script: str) -> None:
    ended = shell(script, limit=MIB)
    assert ended.flooded
    assert ended.status == KILLED
    assert not ended.timed_out
    assert len(ended.stdout) + len(ended.stderr) == MIB


def test_as_much_as_the_limit_is_kept() -> None:
    ended = shell("head -c 1000 /dev/zero; head -c 24 /dev/zero >&2", limit=1024)
    assert (ended.status, len(ended.stdout), len(ended.stderr), ended.flooded) == (0, 1000, 24, False)


def test_a_process_whose_time_is_up_is_killed() -> None:
    ended = shell("exec sleep 100", timeout=0.1)
    assert (ended.timed_out, ended.flooded, ended.status) == (True, False, KILLED)


def test_files_are_standard_input_and_output() -> None:
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as answer:
        given.write(b"x" * 2000)
        given.seek(0)
        ended = shell("cat; echo err >&2", given=given, answer=answer, limit=100)
        answer.seek(0)
        assert answer.read() == b"x" * 2000
    assert (ended.stdout, ended.stderr) == (b"", b"err\n")


def test_the_error_names_command_and_limit(tmp_path: Path) -> None:
    task = Task(tree=tmp_path, command=("/bin/x",), limits=Limits(output=3 * MIB))
    with pytest.raises(ToolFailed, match="/bin/x wrote more than 3 MiB"):
        result_of(RunResult(status=KILLED, stdout=b"", stderr=b"", timed_out=False, flooded=True), task)


@pytest.fixture
def cancellation() -> Iterator[EventCancellation]:
    with closing(EventCancellation()) as made:
        yield made


def test_a_cancelled_process_is_killed_with_its_children(cancellation: EventCancellation) -> None:
    seen = bytearray()

    def hear(_number: int, piece: bytes) -> None:
        seen.extend(piece)
        if seen.count(b"\n") == 2:
            cancellation.cancel()

    with pytest.raises(CancelledError):
        shell("sleep 1000 & echo $!; echo $$; exec sleep 1000", console=Console(output=hear), cancellation=cancellation)
    for pid in map(int, seen.split()):
        _wait_for_end(pid)


def _wait_for_end(pid: int) -> None:
    """Return when a killed process is gone, or a zombie of the process that adopted it; a signal arrives later."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            if "Z" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]:
                return
        except (FileNotFoundError, ProcessLookupError):
            return
        time.sleep(0.01)
    pytest.fail(f"process {pid} runs on")


def test_what_begins_after_the_cancellation_ends_at_once(cancellation: EventCancellation, tmp_path: Path) -> None:
    cancellation.cancel()
    sandbox = cancellable_sandbox(Unconfined(work=tmp_path / "work"), cancellation)
    task = Task(tree=Path("/"), command=("/bin/sleep", "1000"), env=(("PATH", os.defpath),))
    with pytest.raises(CancelledError):
        sandbox.run(task)
    assert not any((tmp_path / "work").iterdir())


def test_a_process_that_is_not_cancelled_ends_as_usual(cancellation: EventCancellation) -> None:
    assert shell("echo yes", cancellation=cancellation).stdout == b"yes\n"
    cancellation.check()
