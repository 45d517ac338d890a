"""Whether uv gets on is judged by what its processes do."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envbuilder.core.uv_process import Activity, ProgressWatch, activity, run_process


@pytest.mark.parametrize(
    ("done", "ended"),
    [
        ([Activity(), Activity(), Activity()], True),
        ([Activity(), Activity(seconds=0.1), Activity(seconds=0.15)], True),
        ([Activity(), Activity(moved=5_000), Activity(moved=10_000)], True),
        ([Activity(), Activity(seconds=0.1), Activity(seconds=0.25)], False),
        ([Activity(), Activity(moved=5_000), Activity(moved=10_240)], False),
        ([Activity(seconds=9.0, moved=1 << 30), Activity(), Activity()], False),
    ],
)
def test_progress_is_processor_time_or_bytes_of_files(done: list[Activity], ended: bool) -> None:
    looks, now = iter(done), iter([0.0, 5.0, 10.0])
    progress = ProgressWatch(lambda: next(looks), 10.0, lambda: next(now))
    assert not progress.ended()
    assert progress.ended() is ended


def test_what_children_do_counts(tmp_path: Path) -> None:
    script = "import sys; open(sys.argv[1], 'wb').write(bytes(1 << 20)); print(flush=True); sys.stdin.read()"
    before = activity(os.getpid())
    with subprocess.Popen(
        ["/bin/sh", "-c", '"$0" -c "$1" "$2"; true', sys.executable, script, str(tmp_path / "file")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as shell:
        assert shell.stdout is not None
        shell.stdout.readline()  # its child has written
        assert activity(shell.pid).moved >= 1 << 20
        shell.communicate(b"")
    while time.process_time() < 0.1:
        pass
    after = activity(os.getpid())
    assert after.moved - before.moved >= 1 << 20
    assert after.seconds > 0


def test_a_process_that_is_gone_has_done_nothing() -> None:
    assert activity(1 << 30) == Activity()


def test_uv_allows_a_server_less_than_a_minute_of_silence_unless_the_user_allows_more() -> None:
    show = ["/bin/sh", "-c", 'echo "$UV_HTTP_TIMEOUT" >&2; exit 3']
    assert run_process(show, {}) == (3, "12\n")
    assert run_process(show, {"UV_HTTP_TIMEOUT": "300"}) == (3, "300\n")
