"""Start of the programs of this package that drop privileges and execute a command."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from envbuilder.core.errors import ToolFailed
from envbuilder.oci.runtime.processes import Ended, wait_for
from envbuilder.oci.runtime.sandbox import Task


def launch(program: Path, described: Path, task: Task) -> Ended:
    """Run the command of a task by a program that reads a description.

    Args:
        program: Its arguments are the path of a JSON document, and an open file for errors before the command.
        described: The JSON document.
        task: The task; its streams, timeout and output are used.

    Raises:
        ToolFailed: The kernel refuses a step of the program.
    """
    reading, writing = os.pipe()
    try:
        ended = wait_for(
            (sys.executable, "-I", "-S", str(program), str(described), str(writing)),
            timeout=task.timeout,
            environ={"PATH": os.defpath},
            pass_fds=(writing,),
            output=task.output,
            given=task.given,
            answer=task.answer,
            limit=task.limits.output,
            cancellation=task.cancellation,
        )
    finally:
        with suppress(OSError):
            os.close(writing)
        with os.fdopen(reading, "rb") as stream:
            trouble = stream.read().decode("utf-8", "replace")
    if trouble and not (ended.timed_out or ended.flooded):
        raise ToolFailed(f"the kernel refused: {trouble}", hint="install runc, or use --engine docker")
    return ended
