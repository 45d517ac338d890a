"""Commands without a sandbox, on this machine as the caller, if the user allows it by an option.

Absolute sandbox paths in the command and the environment are translated to those of this machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from envbuilder.oci.runtime.command import RunResult
from envbuilder.oci.runtime.outputs import scratch
from envbuilder.oci.runtime.sandbox import Task
from envbuilder.oci.runtime.task_processes import result_of, run_process

_TEMPORARY = "/tmp"  # noqa: S108  in the sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Unconfined:
    """`Sandbox` without isolation: network, home directory and all files of the caller are accessible."""

    name: ClassVar[str] = "host"
    version: ClassVar[str] = ""
    work: Path

    def run(self, task: Task) -> RunResult:
        """See `Sandbox.run`."""
        with scratch(self.work) as folder:
            ended = run_process(
                [on_this_host(word, task, folder) for word in task.command],
                task,
                {name: on_this_host(value, task, folder) for name, value in task.env},
            )
            kept = task.copy_out.removeprefix(f"{_TEMPORARY}/")
            return result_of(ended, task, (folder, kept) if task.copy_out else None)


def on_this_host(word: str, task: Task, folder: Path) -> str:
    """Return a word with the paths in it, separated by colons, translated to those of this machine."""
    return ":".join(_place(part, task, folder) for part in word.split(":")) if word.startswith("/") else word


def _place(path: str, task: Task, folder: Path) -> str:
    outside = {target: source for source, target in (*task.mounts, *task.shared)} | {_TEMPORARY: str(folder)}
    for target, source in outside.items():
        if path == target or path.startswith(f"{target}/"):
            return source + path.removeprefix(target)
    return str(task.tree / path[1:]) if path.startswith("/") else path
