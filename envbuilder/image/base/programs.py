"""The port to other programs, and the adapter that runs them."""

from __future__ import annotations

import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

LineListener: TypeAlias = Callable[[str], None]

_TAIL = 40


def ignore_line(_line: str) -> None:
    """Ignore a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The result of a program.

    Attributes:
        status: Exit status; negative when a signal ended it.
        stdout: Its complete standard output.
        tail: The last 40 lines that it wrote to stderr, oldest first.
    """

    status: int
    stdout: str
    tail: tuple[str, ...]


class Run(Protocol):
    """Runs a program without a shell and without standard input, with umask 022, and waits for its end."""

    def __call__(
        self, command: Sequence[str], *, environ: Mapping[str, str], folder: Path, on_line: LineListener = ignore_line
    ) -> Ran:
        """Run a command.

        Args:
            command: Program and arguments.
            environ: Its whole environment.
            folder: Its working directory.
            on_line: Receives each line of stderr as it is written.

        Raises:
            OSError: The program cannot be started; `FileNotFoundError` if it does not exist.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseHost:
    """The access to the machine that a base is made on.

    Attributes:
        environ: Environment of this process.
        run: Runs programs.
        listener: Receives every line that a long-running program writes, without credentials.
    """

    environ: Mapping[str, str]
    run: Run
    listener: LineListener = ignore_line


def run_program(
    command: Sequence[str], *, environ: Mapping[str, str], folder: Path, on_line: LineListener = ignore_line
) -> Ran:
    """Run a command of this host; see `Run`. When interrupted, the program is terminated and waited for."""
    tail: deque[str] = deque(maxlen=_TAIL)
    with tempfile.TemporaryFile() as stdout:
        process = subprocess.Popen(
            list(command),
            env=dict(environ),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            umask=0o022,
        )
        with process:
            try:
                _follow(process, tail, on_line)
            except BaseException:
                # Terminated and not killed: uv removes its unfinished downloads.
                process.terminate()
                raise
        stdout.seek(0)
        return Ran(status=process.returncode, stdout=stdout.read().decode("utf-8", "replace"), tail=tuple(tail))


def _follow(process: subprocess.Popen[bytes], tail: deque[str], on_line: LineListener) -> None:
    if process.stderr is None:
        return
    for raw in process.stderr:
        line = raw.decode("utf-8", "replace").rstrip()
        tail.append(line)
        on_line(line)
