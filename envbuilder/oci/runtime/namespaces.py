"""Sandbox by kernel namespaces alone, without a program other than Python."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from envbuilder.oci.runtime.command import RunResult
from envbuilder.oci.runtime.file_watch import WATCHED, Watch, watching
from envbuilder.oci.runtime.limits import rlimits, size_option
from envbuilder.oci.runtime.outputs import scratch
from envbuilder.oci.runtime.port_relays import Connector, connect_on_host, on_shared_network, relayed
from envbuilder.oci.runtime.root_mounts import Bind, Skeleton, make_skeleton
from envbuilder.oci.runtime.sandbox import FILE_PRIVILEGES, FOREIGN, MASKED_PATHS, READONLY_PATHS, Task, has_privileges
from envbuilder.oci.runtime.seccomp import is_filtered, program
from envbuilder.oci.runtime.task_processes import launch, result_of

INSIDE = Path(__file__).with_name("container_init.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespaces:
    """`Sandbox` by kernel namespaces.

    Attributes:
        version: Release of the kernel.
        as_root: Whether this process may create namespaces as root. Otherwise it creates a user namespace first, in
            which the user of the command is this one.
    """

    name: ClassVar[str] = "namespaces"
    version: str
    work: Path
    as_root: bool

    def run(self, task: Task) -> RunResult:
        """See `Sandbox.run`."""
        with scratch(self.work) as folder, ExitStack() as stack:
            skeleton = make_skeleton(task, folder)
            place = folder / "task.json"
            network = stack.enter_context(_relays(task))
            with watching(task.opened, folder / WATCHED) as watch:
                place.write_text(json.dumps(described(task, skeleton, watch, as_root=self.as_root)), "utf-8")
                ended = launch(INSIDE, place, task, network, watch)
            return result_of(ended, task, skeleton.copied)


@contextmanager
def _relays(task: Task) -> Iterator[int | None]:
    """Forward the published ports; yield the open file over which connections inside the namespace are made, if any."""
    if not task.ports or task.host_network:
        with relayed(on_shared_network(task.ports), connect_on_host):
            yield None
        return
    near, far = socket.socketpair()
    with near, far, relayed(task.ports, Connector(near)):
        yield far.fileno()


def described(task: Task, skeleton: Skeleton, watch: Watch | None = None, *, as_root: bool) -> dict[str, object]:
    """Return a task in the format of `container_init.py`."""
    return {
        "watch": [watch.number, str(watch.folders)] if watch else [],
        "root": str(skeleton.root),
        "parts": [_plain(bind) for bind in skeleton.parts],
        "overlays": [[each.target, ",".join(each.options(as_root=as_root))] for each in skeleton.overlays],
        "devices": [list(pair) for pair in task.devices],
        "empty": list(skeleton.empty),
        "binds": [_plain(bind) for bind in skeleton.binds],
        "hidden": [*MASKED_PATHS, *task.hidden],
        "locked": list(READONLY_PATHS),
        "command": list(task.command),
        "env": dict(task.env),
        "folder": task.folder,
        "uid": task.uid,
        "gid": task.gid,
        "map_accounts": not as_root,
        "own_accounts": as_root and task.uid == FOREIGN,
        "privileges": sorted(FILE_PRIVILEGES.values()) if has_privileges(task, as_root=as_root) else [],
        "init": task.console is not None,
        "limits": rlimits(task.limits, shared_account=not as_root),
        "size": size_option(task.limits),
        "filter": program().hex() if is_filtered() else "",
        "host_network": task.host_network,
        "joined": [path for path in (task.joined.accounts, task.joined.network) if path] if task.joined else [],
    }


def _plain(bind: Bind) -> dict[str, object]:
    return {"source": str(bind.source), "target": bind.target, "writable": bind.writable}
