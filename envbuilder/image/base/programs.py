"""The port to other programs, and the adapter that runs them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

_TAIL = 40


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

    def __call__(self, command: Sequence[str], *, environ: Mapping[str, str], folder: Path) -> Ran:
        """Run a command.

        Args:
            command: Program and arguments.
            environ: Its whole environment.
            folder: Its working directory.

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
    """

    environ: Mapping[str, str]
    run: Run


def run_program(command: Sequence[str], *, environ: Mapping[str, str], folder: Path) -> Ran:
    """Run a command of this host; see `Run`. When interrupted, the program is terminated and waited for."""
    with subprocess.Popen(
        list(command),
        env=dict(environ),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        umask=0o022,
    ) as process:
        try:
            stdout, stderr = (output.decode("utf-8", "replace") for output in process.communicate())
        except BaseException:
            # Terminated and not killed: uv removes its unfinished downloads.
            process.terminate()
            raise
    lines = [line.rstrip() for line in stderr.removesuffix("\n").split("\n")] if stderr else []
    return Ran(status=process.returncode, stdout=stdout, tail=tuple(lines[-_TAIL:]))
