"""Sandbox for an image's interpreter on kernels without user namespaces, as in a container of a CI service.

Landlock and a filter of system calls need no privileges. The command can read its tree and nothing else, write nothing
but its standard output, and reach neither network nor other processes. It is weaker than a sandbox with a root of its
own, since the existence of files is visible. Therefore build scripts of packages do not run in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from envbuilder.core.errors import ToolMissing
from envbuilder.oci.runtime import landlock_init
from envbuilder.oci.runtime.command import RunResult
from envbuilder.oci.runtime.limits import rlimits
from envbuilder.oci.runtime.outputs import scratch
from envbuilder.oci.runtime.sandbox import Sandbox, Task
from envbuilder.oci.runtime.seccomp import ALONE, program
from envbuilder.oci.runtime.task_processes import launch, result_of
from envbuilder.oci.runtime.unconfined import on_this_host

_READ = landlock_init.READ_FILE | landlock_init.EXECUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class Landlock:
    """`Sandbox` by Landlock, for commands that need nothing but their tree.

    Attributes:
        otherwise: Runs commands that need more; None to refuse them.
    """

    name: ClassVar[str] = "landlock"
    work: Path
    otherwise: Sandbox | None = None
    refusal: ToolMissing | None = None

    @property
    def version(self) -> str:
        """See `Sandbox.version`."""
        return str(landlock_init.version())

    def run(self, task: Task) -> RunResult:
        """See `Sandbox.run`.

        Raises:
            ToolMissing: The task needs more than its tree, and no other sandbox is available.
        """
        if task.mounts or task.shared or task.files or task.copy_out or task.host_network:
            if self.otherwise is not None:
                return self.otherwise.run(task)
            raise self.refusal or ToolMissing("no available sandbox can run this", hint="--engine docker")
        with scratch(self.work) as folder:
            described = folder / "task.json"
            described.write_text(json.dumps(_described(task, folder)), "utf-8")
            ended = launch(Path(landlock_init.__file__), described, task)
        return result_of(ended, task)

    def for_all(self, otherwise: Sandbox | None, refusal: ToolMissing) -> Landlock:
        """Return a copy that passes other commands to a sandbox, or refuses them."""
        return replace(self, otherwise=otherwise, refusal=refusal)


def _described(task: Task, folder: Path) -> dict[str, object]:
    return {
        "command": [on_this_host(word, task, folder) for word in task.command],
        "env": {name: on_this_host(value, task, folder) for name, value in task.env},
        "folder": on_this_host(task.folder, task, folder),
        "limits": rlimits(task.limits, shared_account=True),
        "rules": list(_rules(task)),
        "filter": program(ALONE).hex(),
    }


def _rules(task: Task) -> Iterator[tuple[str, int]]:
    """Yield the access rules: the whole tree can be listed, and read except for hidden paths."""
    yield str(task.tree), landlock_init.READ_DIR
    hidden = {task.tree / path.lstrip("/") for path in task.hidden}
    pending = [task.tree]
    while pending:
        place = pending.pop()
        if place in hidden or place.is_symlink():
            continue
        if any(place in path.parents for path in hidden):
            pending += place.iterdir()
        else:
            yield str(place), _READ
