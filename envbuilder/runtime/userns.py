"""Commands by the kernel's namespaces alone: no program is needed but Python."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from envbuilder.errors import ToolFailed
from envbuilder.model.builds import RunResult
from envbuilder.runtime.leftovers import read_inside, scratch
from envbuilder.runtime.protecting import HIDDEN, LOCKED
from envbuilder.runtime.sandbox import Task
from envbuilder.runtime.skeleton import Bind, Skeleton, make_skeleton
from envbuilder.runtime.waiting import Ended, wait_for

_INSIDE = Path(__file__).with_name("entering.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespaces:
    """The `Sandbox` over namespaces.

    Attributes:
        version: Release of the kernel.
        work: For files of a run.
        as_root: Whether this process may make namespaces as root. Otherwise it makes a namespace of accounts first, in
            which the account of the command is this one.
    """

    version: str
    work: Path
    as_root: bool

    @property
    def name(self) -> str:
        """See `Sandbox.name`."""
        return "namespaces"

    def run(self, task: Task) -> RunResult:
        """See `Sandbox.run`."""
        with scratch(self.work) as folder:
            skeleton = make_skeleton(task, folder)
            described = folder / "task.json"
            described.write_text(json.dumps(self._described(task, skeleton)), "utf-8")
            ended, trouble = _enter(described, task)
            if trouble and not ended.timed_out:
                raise ToolFailed(f"the kernel refuses: {trouble}", hint="install runc, or use --engine docker")
            return RunResult(
                status=ended.status,
                stdout=ended.stdout,
                stderr=ended.stderr,
                timed_out=ended.timed_out,
                copied=read_inside(*skeleton.copied) if skeleton.copied else None,
            )

    def _described(self, task: Task, skeleton: Skeleton) -> dict[str, object]:
        return {
            "root": str(skeleton.root),
            "parts": [_plain(bind) for bind in skeleton.parts],
            "empty": list(skeleton.empty),
            "binds": [_plain(bind) for bind in skeleton.binds],
            "hidden": list(HIDDEN),
            "locked": list(LOCKED),
            "command": list(task.command),
            "env": dict(task.env),
            "folder": task.folder,
            "uid": task.uid,
            "gid": task.gid,
            "map_accounts": not self.as_root,
            "host_network": task.host_network,
        }


def _plain(bind: Bind) -> dict[str, object]:
    return {"source": str(bind.source), "target": bind.target, "writable": bind.writable}


def _enter(described: Path, task: Task) -> tuple[Ended, str]:
    """How it ended, and what kept it from being started."""
    reading, writing = os.pipe()
    try:
        command = (sys.executable, "-I", "-S", str(_INSIDE), str(described), str(writing))
        environ = {"PATH": os.defpath}
        ended = wait_for(command, timeout=task.timeout, environ=environ, pass_fds=(writing,), output=task.output)
    finally:
        with suppress(OSError):
            os.close(writing)
        with os.fdopen(reading, "rb") as stream:
            trouble = stream.read()
    return ended, trouble.decode("utf-8", "replace")
