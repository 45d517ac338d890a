"""Processes that run the command of a task, and their results."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from envbuilder.core.errors import ToolFailed
from envbuilder.core.units import size
from envbuilder.oci.runtime.command import RunResult
from envbuilder.oci.runtime.file_watch import Watch
from envbuilder.oci.runtime.outputs import read_inside
from envbuilder.oci.runtime.processes import nothing_more, status_of, wait_for
from envbuilder.oci.runtime.sandbox import Task
from envbuilder.oci.runtime.terminals import connect, forwarded


def run_process(
    command: Sequence[str],
    task: Task,
    environ: Mapping[str, str],
    *,
    kill: Callable[[], object] = nothing_more,
    pass_fds: Sequence[int] = (),
) -> RunResult:
    """Run a command with the streams, the timeout and the limit of output of a task; see `wait_for`."""
    return wait_for(
        command,
        timeout=task.timeout,
        environ=environ,
        kill=kill,
        pass_fds=pass_fds,
        console=task.console,
        given=task.given,
        answer=task.answer,
        limit=task.limits.output,
        cancellation=task.cancellation,
    )


def launch(
    program: Path, described: Path, task: Task, network: int | None = None, watch: Watch | None = None
) -> RunResult:
    """Run the command of a task by a program that reads a description.

    Args:
        program: Its arguments are the path of a JSON document, an open file for errors before the command, and the
            sockets for a terminal and for connections, `-` for none.
        described: The JSON document.
        task: Its streams, timeout and output are used.
        network: Socket for connections to published ports; None if there are none.
        watch: Watch of the files that the command opens; None for none.

    Raises:
        ToolFailed: The kernel refuses a step of the program.
    """
    reading, writing = os.pipe()
    command = (sys.executable, "-I", "-S", str(program), str(described), str(writing))
    files = (writing, *(() if network is None else (network,)), *((watch.number,) if watch else ()))
    connections = "-" if network is None else str(network)
    try:
        if task.has_terminal:
            ended = _on_terminal(command, connections, files)
        else:
            ended = run_process((*command, "-", connections), task, {"PATH": os.defpath}, pass_fds=files)
    finally:
        with suppress(OSError):
            os.close(writing)
        with os.fdopen(reading, "rb") as stream:
            trouble = stream.read().decode("utf-8", "replace")
    if trouble and not (ended.timed_out or ended.flooded):
        raise ToolFailed(f"the kernel refused: {trouble}", hint="install runc, or use --engine docker")
    return ended


def _on_terminal(command: Sequence[str], connections: str, files: Sequence[int]) -> RunResult:
    """Run a program that opens a terminal and sends it here; connect it to that of this process."""
    near, far = socket.socketpair()
    with near, far:
        process = subprocess.Popen(
            (*command, str(far.fileno()), connections),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={"PATH": os.defpath},
            pass_fds=(*files, far.fileno()),
            start_new_session=True,
        )
        far.close()
        with process, forwarded(process.send_signal):
            try:
                _, terminals, _, _ = socket.recv_fds(near, 1, 1, socket.MSG_CMSG_CLOEXEC)
                for terminal in terminals:
                    with os.fdopen(terminal, "rb", buffering=0):
                        connect(terminal)
                process.wait()
            except BaseException:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                raise
    return RunResult(status=status_of(process))


def result_of(ended: RunResult, task: Task, copied: tuple[Path, str] | None = None) -> RunResult:
    """Return the result of a task, with the file that it was asked to return.

    `copied` are the directory and the relative path of the file; None for none.

    Raises:
        ToolFailed: It exceeded the limit of its output.
        VerificationFailed: The file is too large.
    """
    if ended.flooded:
        raise ToolFailed(
            f"{task.command[0]} wrote more than {size(task.limits.output)} of output and was stopped",
            hint="check its output: `envbuilder run IMAGE COMMAND`",
        )
    return replace(ended, copied=read_inside(*copied) if copied else None)
