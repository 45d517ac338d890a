"""Run commands in terminals of tmux, and read what they show."""

from __future__ import annotations

import itertools
import os
import shlex
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

_ROWS = 50
_SECONDS = 240
_LINES = 5000
_TERMINAL = "tmux-256color"
"""Entry of terminfo: what a terminal of tmux can do."""
_NUMBERS = itertools.count()
"""Of the servers: one that ends may still answer, so that its name cannot be used again at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What a terminal showed.

    Attributes:
        section: Title of the part of the list that the command belongs to.
        command: The command.
        columns: Width of the terminal.
        text: Its lines, with colours.
        broken: Lines that were longer than the terminal.
    """

    section: str
    command: str
    columns: int
    text: str
    broken: tuple[str, ...]

    @property
    def plain(self) -> str:
        """The lines without colours."""
        return Text.from_ansi(self.text).plain

    @property
    def is_crash(self) -> bool:
        """Whether the command ended with a traceback of Python."""
        return "Traceback (most recent call last)" in self.plain


def captured(section: str, line: str, columns: int, folder: Path) -> Capture:
    """Run a command in a terminal; return what it shows at its end, or after the seconds that the line begins with.

    Args:
        section: Title of the part of the list.
        line: A command for bash; `@5 COMMAND` is captured after five seconds and ended.
        columns: Width of the terminal.
        folder: Directory in which it runs.
    """
    seconds, command = float(_SECONDS), line
    if line.startswith("@"):
        word, _, command = line.partition(" ")
        seconds = float(word[1:])
    server = f"envbuilder-captures-{os.getpid()}-{next(_NUMBERS)}"
    # What the pane shows after the end of the command stays until it was read.
    options = ("set", "-g", "remain-on-exit", "on", ";", "set", "-g", "remain-on-exit-format", "", ";")
    limits = ("set", "-g", "history-limit", str(_LINES), ";", "set", "-g", "default-terminal", _TERMINAL, ";")
    start = ("new-session", "-d", "-c", str(folder), "-x", str(columns), "-y", str(_ROWS))
    _tmux(server, "-f", "/dev/null", "start-server", ";", *options, *limits, *start, f"bash -c {shlex.quote(command)}")
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end and _tmux(server, "display", "-p", "#{pane_dead}").strip() != "1":
            time.sleep(0.1)
        text = _tmux(server, "capture-pane", "-e", "-p", "-S", "-")
        joined = _tmux(server, "capture-pane", "-J", "-p", "-S", "-")
    finally:
        _tmux(server, "kill-server", check=False)
    broken = tuple(each for each in map(str.rstrip, joined.splitlines()) if Text(each).cell_len > columns)
    return Capture(section=section, command=command, columns=columns, text=text.rstrip(), broken=broken)


def _tmux(server: str, *arguments: str, check: bool = True) -> str:
    done = subprocess.run(["tmux", "-L", server, *arguments], check=check, capture_output=True, text=True)
    return done.stdout
