"""Standard streams that are closed, full or a terminal; limits of the machine; messages that quote others."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from envbuilder.cli.output.failures import report
from envbuilder.cli.output.printing import notice
from envbuilder.cli.output.streams import VisibleText, foreign, visible
from envbuilder.cli.system_errors import of_the_system
from envbuilder.core.errors import DiskFull, MachineError, ToolFailed, UsageError
from tests.unit.cli.running import CommandLine


def shell(command: str, folder: Path) -> tuple[int, str, str]:
    """Run a command line in which `$E` is envbuilder."""
    program = 'E() { "$PY" -c "from envbuilder.cli.main import entry; entry()" "$@"; }; '
    done = subprocess.run(
        ["/bin/bash", "-c", program + command],
        cwd=folder,
        env={"PY": sys.executable, "PYTHONPATH": os.pathsep.join(sys.path), "PATH": os.defpath, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("E --version >&-", 0),
        ("E nope <&- >&- 2>&-", 2),
        ("E schema validate >/dev/full", 6),
        ("E nope 2>/dev/full", 2),
        ("ulimit -v 60000; E list", 6),
    ],
)
def test_streams_that_are_closed_or_full_and_little_memory_give_the_documented_status(
    command: str, status: int, tmp_path: Path
) -> None:
    ended, out, err = shell(command, tmp_path)
    assert (ended, "Traceback" in out + err) == (status, False), err


def test_the_first_file_does_not_become_standard_error(tmp_path: Path) -> None:
    status, _, _ = shell("E init tf-2.15-cpu -o here.yaml 2>&- >&-; test -s here.yaml", tmp_path)
    assert status == 0
    assert "error:" not in (tmp_path / "here.yaml").read_text("utf-8")


def test_a_pipe_is_not_read_as_a_log(envbuilder: CommandLine) -> None:
    os.mkfifo(envbuilder.folder / "pipe")
    ended = envbuilder("diagnose", "pipe")
    assert ended.status == 2
    assert "is not a regular file" in ended.stderr


def test_facts_without_a_fact_are_shown(envbuilder: CommandLine) -> None:
    envbuilder.write("facts.json", '{"schema": 1, "seconds": 1, "facts": {}}')
    ended = envbuilder("doctor", "facts.json")
    assert (ended.status, ended.stderr) == (0, "")
    assert "not known" in ended.stdout


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (MemoryError(), MachineError),
        (OSError(errno.EMFILE, "Too many open files"), MachineError),
        (OSError(errno.EIO, "Input/output error"), MachineError),
        (OSError(errno.EIO, "Input/output error", "/log"), MachineError),
        (OSError(errno.ENOSPC, "No space left on device"), DiskFull),
        (OSError(errno.EFBIG, "File too large", "/x"), DiskFull),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), UsageError),
        (RuntimeError("can't start new thread"), MachineError),
        (ImportError("x.so: failed to map segment from shared object"), MachineError),
    ],
)
def test_what_the_system_refuses_is_an_error_of_ours(error: Exception, kind: type[Exception]) -> None:
    assert type(of_the_system(error)) is kind


@pytest.mark.parametrize("error", [OSError(), RuntimeError("x"), ImportError("no module"), ValueError("x")])
def test_a_bug_is_no_error_of_ours(error: Exception) -> None:
    assert of_the_system(error) is None


def test_a_message_that_quotes_others_obeys_no_escape_and_fakes_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    report(ToolFailed("it said:\nerror: all is lost\x1b]0;x\x07\n\x1b[2J\u202eevil\r\n next", hint="a\nnext: rm -rf /"))
    notice("x\nerror: fake")
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("error:")] == ["error: it said:"]
    assert [line for line in lines if line.startswith("next:")] == ["next: a"]
    assert not set("".join(lines)) & set("\x1b\x07\r\u202e")


def test_only_our_own_colours_reach_a_terminal() -> None:
    raw = io.BytesIO()
    stream = VisibleText(raw, encoding="utf-8", errors="backslashreplace")
    ours = "\x1b[31m\x1b[1merror:\x1b[0m ü\n\x1b[38;5;196m\x1b[1mnext:\x1b[0m\x1b[38;5;29;1mx\x1b[0m"
    stream.write(ours + "\x1b[8mhidden\x1b]52;c;x\x07\rover\x9b2J\udc80")
    stream.write("\x1b[38;5;1234m\x1b[48;5;0m")
    stream.flush()
    escaped = "\\x1b[8mhidden\\x1b]52;c;x\\x07\\x0dover\\u009b2J\\udc80"
    assert raw.getvalue().decode() == f"{ours}{escaped}\\x1b[38;5;1234m\\x1b[48;5;0m"


def test_a_message_without_end_is_cut() -> None:
    assert len(foreign("x" * 20_000_000)) < 21_000


def test_text_without_controls_stays_as_it_is() -> None:
    text = "Grüße, 世界\tand\nmore 🙂"
    assert visible(text) == text
