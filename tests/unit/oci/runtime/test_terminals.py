"""The terminal of a process, while a command uses it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from envbuilder.oci.runtime.terminals import forwarded, is_usable

_SECONDS = 60.0
# A program as a user would start it; it ends with the status of the shell that it connects with its terminal.
PROGRAM = """
import os, pty, signal, sys
from envbuilder.oci.runtime import terminals
child, master = pty.fork()
if not child:
    # What a script starts in the background ignores it, and no shell can trap a signal that it ignored from its start.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execv("/bin/sh", ["/bin/sh", "-c", sys.argv[1]])
assert terminals.is_usable()
print("started", flush=True)
terminals.connect(master)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


class Terminal:
    """A terminal window with a program."""

    def __init__(self, script: str) -> None:
        self.pid, self.window = pty.fork()
        if not self.pid:
            os.execve(  # noqa: S606  the program of this test
                sys.executable,
                [sys.executable, "-c", PROGRAM, script],
                {"PATH": os.defpath, "PYTHONPATH": str(Path(__file__).parents[4])},
            )
        self.seen = b""

    def until(self, word: bytes) -> None:
        while word not in self.seen:
            assert select.select([self.window], [], [], _SECONDS)[0], self.seen
            self.seen += os.read(self.window, 4096)

    def type(self, keys: bytes) -> None:
        os.write(self.window, keys)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.window, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def modes(self) -> list[object]:
        return list(termios.tcgetattr(self.window))[:4]

    def status(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@pytest.fixture
def started() -> Iterator[list[Terminal]]:
    terminals: list[Terminal] = []
    yield terminals
    for terminal in terminals:
        os.close(terminal.window)


def test_keys_and_sizes_reach_the_command_and_the_modes_are_restored(started: list[Terminal]) -> None:
    terminal = Terminal(
        "read line; trap 'stty size; echo resized; exit 7' WINCH; echo got $line; while :; do sleep 0.1; done"
    )
    started.append(terminal)
    before = terminal.modes()
    terminal.until(b"started")
    terminal.type(b"word\r")
    terminal.until(b"got word")
    terminal.resize(33, 77)
    terminal.until(b"33 77\r\nresized")
    assert terminal.status() == 7
    assert terminal.modes() == before


def test_ctrl_c_is_a_key_of_the_command(started: list[Terminal]) -> None:
    terminal = Terminal("trap 'echo interrupted; exit 5' INT; echo ready; while :; do sleep 0.1; done")
    started.append(terminal)
    terminal.until(b"ready")
    terminal.type(b"\x03")
    terminal.until(b"interrupted")
    assert terminal.status() == 5


def test_pipes_are_no_terminal() -> None:
    script = "from envbuilder.oci.runtime.terminals import is_usable; print(is_usable())"
    done = subprocess.run([sys.executable, "-c", script], stdin=subprocess.PIPE, capture_output=True, check=True)
    assert done.stdout == b"False\n"
    assert isinstance(is_usable(), bool)


def test_the_first_two_signals_are_passed_on_and_the_third_interrupts() -> None:
    sent: list[int] = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with forwarded(sent.append):
            for count in (1, 2):
                signal.raise_signal(signal.SIGINT)
                while len(sent) < count:
                    time.sleep(0.01)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert sent == [signal.SIGINT, signal.SIGINT]


def test_a_signal_that_this_process_ignores_stays_ignored() -> None:
    sent: list[int] = []
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with forwarded(sent.append):
            signal.raise_signal(signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert not sent
