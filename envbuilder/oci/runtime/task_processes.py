"""The process that runs the command of a task, and its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from envbuilder.core.errors import ToolFailed
from envbuilder.core.units import size
from envbuilder.oci.runtime.command import RunResult
from envbuilder.oci.runtime.outputs import read_inside
from envbuilder.oci.runtime.processes import Ended, nothing_more, wait_for
from envbuilder.oci.runtime.sandbox import Task


def run_process(
    command: Sequence[str],
    task: Task,
    environ: Mapping[str, str],
    *,
    kill: Callable[[], None] = nothing_more,
    pass_fds: Sequence[int] = (),
) -> Ended:
    """Run a command with the streams, the timeout and the limit of output of a task; see `wait_for`.

    Args:
        command: What to start for the task.
        task: The task.
        environ: Environment of what is started.
        kill: Kills processes outside the command's process group.
        pass_fds: Further open files to pass on.
    """
    return wait_for(
        command,
        timeout=task.timeout,
        environ=environ,
        kill=kill,
        pass_fds=pass_fds,
        output=task.output,
        given=task.given,
        answer=task.answer,
        limit=task.limits.output,
        cancellation=task.cancellation,
        signals=task.signals,
    )


def result_of(ended: Ended, task: Task, copied: tuple[Path, str] | None = None) -> RunResult:
    """Return the result of a command.

    Args:
        ended: Its process.
        task: The command.
        copied: Directory and relative path of the file that it was asked to return; None for none.

    Raises:
        ToolFailed: It exceeded the limit of its output.
        VerificationFailed: The file is too large.
    """
    if ended.flooded:
        raise ToolFailed(
            f"{task.command[0]} wrote more than {size(task.limits.output)} of output and was stopped",
            hint="check its output: `envbuilder run IMAGE COMMAND`",
        )
    return RunResult(
        status=ended.status,
        stdout=ended.stdout,
        stderr=ended.stderr,
        timed_out=ended.timed_out,
        copied=read_inside(*copied) if copied else None,
    )
