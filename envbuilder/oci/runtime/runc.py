"""Sandbox by runc, as root or rootless.

Source: https://github.com/opencontainers/runtime-spec/blob/v1.0.2/config.md; tested with runc 1.1.5.
"""

from __future__ import annotations

import json
import os
import re
import stat
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from envbuilder.core.errors import ToolFailed, UsageError
from envbuilder.core.json_fields import parsed, text
from envbuilder.oci.runtime.command import RunResult, failed_start, publishable
from envbuilder.oci.runtime.limits import kernel, rlimits, size_option
from envbuilder.oci.runtime.outputs import scratch
from envbuilder.oci.runtime.port_relays import connect_on_host, on_shared_network, relayed
from envbuilder.oci.runtime.processes import wait_for
from envbuilder.oci.runtime.root_mounts import DEV, HOSTNAME, PROC, SHM, SYS, Bind, Skeleton, make_skeleton
from envbuilder.oci.runtime.sandbox import FILE_PRIVILEGES, FOREIGN, MASKED_PATHS, READONLY_PATHS, Task, has_privileges
from envbuilder.oci.runtime.seccomp import is_filtered, profile
from envbuilder.oci.runtime.task_processes import result_of, run_process

_SECONDS_TO_CLEAN = 30.0
_RRO_RUNC, _RRO_KERNEL = (1, 1), (5, 12)
"""First versions with recursive read-only mounts: https://github.com/opencontainers/runc/pull/3272."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runc:
    """`Sandbox` by runc.

    Attributes:
        version: Its reported version, such as `1.1.5`.
        filters: Whether it was built with libseccomp.
        as_root: Whether this process may be root in a container without a user namespace. Otherwise everything runs as
            this user, which is root inside.
    """

    name: ClassVar[str] = "runc"
    program: str
    version: str
    work: Path
    as_root: bool
    filters: bool = False

    def run(self, task: Task) -> RunResult:
        """See `Sandbox.run`."""
        if task.asked and task.uid and not self.as_root:
            raise UsageError(
                f"runc without root privileges cannot run a command as the user {task.uid}",
                hint="omit --user, or run as root",
            )
        if task.opened:
            raise UsageError("runc does not report which files a command opens", hint="omit it from PATH")
        if task.joined and not self.as_root:
            raise UsageError("runc without root privileges cannot join a network namespace", hint="run as root")
        ports = publishable(task.ports, has_network=task.host_network, program="runc")
        with scratch(self.work) as folder, relayed(on_shared_network(ports), connect_on_host):
            skeleton = make_skeleton(task, folder)
            deep = _numbers(self.version) >= _RRO_RUNC and kernel() >= _RRO_KERNEL
            filters = self.filters and is_filtered()
            config = bundle(task, skeleton, as_root=self.as_root, filters=filters, deep=deep)
            (folder / "config.json").write_text(json.dumps(config), "utf-8")
            ended = self._run(folder, f"envbuilder-{uuid.uuid4().hex}", task)
            stopped = _complaint(folder / "log")
            if stopped and not (ended.timed_out or ended.flooded):
                return not_started(stopped)
            return result_of(ended, task, skeleton.copied)

    def _run(self, folder: Path, name: str, task: Task) -> RunResult:
        base = (self.program, "--root", str(folder / "state"))
        log = ("--log", str(folder / "log"), "--log-format", "json")
        environ = {"PATH": os.defpath}
        remove = partial(wait_for, (*base, "delete", "--force", name), timeout=_SECONDS_TO_CLEAN, environ=environ)
        try:
            # If there is a terminal, runc passes everything on between that of the container and its own.
            return run_process((*base, *log, "run", "--bundle", str(folder), name), task, environ, kill=remove)
        finally:
            if (folder / "state" / name).exists():
                remove()


def _complaint(log: Path) -> str:
    """Return the error of runc for a container that it could not start; empty if it started."""
    entries = map(parsed, log.read_bytes().splitlines() if log.is_file() else ())
    return next((text(entry, "msg") for entry in entries if text(entry, "level") in {"error", "fatal"}), "")


def not_started(complaint: str) -> RunResult:
    """Return the result for a command that cannot be started.

    Raises:
        ToolFailed: The error does not concern the command.
    """
    result = failed_start(complaint)
    if result is None:
        raise ToolFailed(f"runc cannot start a container: {complaint}", hint="use a container engine: --engine docker")
    return result


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0])[:2])


def bundle(
    task: Task, skeleton: Skeleton, *, as_root: bool, filters: bool = False, deep: bool = False
) -> Mapping[str, object]:
    """Return the configuration of a container in the format of `config.json`.

    With `as_root`, users are those of this host; with `deep`, runc supports recursive read-only mounts.
    """
    uid, gid = (task.uid, task.gid) if as_root else (0, 0)
    accounts = _accounts(task, as_root=as_root)
    kept = [f"CAP_{name}" for name in FILE_PRIVILEGES] if has_privileges(task, as_root=as_root) else []
    nothing: list[str] = []
    capabilities = dict.fromkeys(("bounding", "effective", "permitted"), kept)
    capabilities |= dict.fromkeys(("inheritable", "ambient"), nothing)
    return {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": task.has_terminal,
            "user": {"uid": uid, "gid": gid},
            "args": list(task.command),
            "env": [f"{name}={value}" for name, value in task.env],
            "cwd": task.folder,
            "capabilities": capabilities,
            "noNewPrivileges": True,
            "rlimits": [
                {"type": name, "soft": value, "hard": value}
                for name, value in rlimits(task.limits, shared_account=not as_root).items()
            ],
        },
        "root": {"path": str(skeleton.root), "readonly": not task.changes},
        "hostname": HOSTNAME,
        "mounts": list(_mounts(task, skeleton, as_root=as_root, deep=deep)),
        "linux": {
            "namespaces": list(_namespaces(task, own_accounts=bool(accounts))),
            **accounts,
            "maskedPaths": [*MASKED_PATHS, *task.hidden],
            "readonlyPaths": list(READONLY_PATHS),
            **({"seccomp": profile()} if filters else {}),
            **({"resources": _resources(task)} if as_root else {}),
        },
    }


def _resources(task: Task) -> dict[str, object]:
    memory = {"memory": {"limit": task.limits.memory}} if task.limits.memory else {}
    devices = {"devices": [_allowed(Path(source)) for source, _ in task.devices]} if task.devices else {}
    return {"pids": {"limit": task.limits.processes or -1}, **memory, **devices}


def _allowed(node: Path) -> dict[str, object]:
    """Return the rule of the device controller for a device node."""
    status = node.stat()
    kind = "b" if stat.S_ISBLK(status.st_mode) else "c"
    major, minor = os.major(status.st_rdev), os.minor(status.st_rdev)
    return {"allow": True, "type": kind, "major": major, "minor": minor, "access": "rw"}


def _namespaces(task: Task, *, own_accounts: bool) -> Iterator[dict[str, str]]:
    for kind in ("pid", "ipc", "uts", "mount"):
        yield {"type": kind}
    if task.joined:
        yield {"type": "network", "path": task.joined.network}
    elif not task.host_network:
        yield {"type": "network"}
    if own_accounts:
        yield {"type": "user"}


def _accounts(task: Task, *, as_root: bool) -> dict[str, object]:
    """Return the user and group mappings of a user namespace; empty if none is used."""
    if not as_root:
        return {"uidMappings": [_mapped(0, os.geteuid())], "gidMappings": [_mapped(0, os.getegid())]}
    if task.uid != FOREIGN:
        return {}
    # runc itself prepares the root as user 0 before it changes the user.
    both = [_mapped(number, number) for number in (0, FOREIGN)]
    return {"uidMappings": both, "gidMappings": both}


def _mapped(inside: int, outside: int) -> dict[str, int]:
    return {"containerID": inside, "hostID": outside, "size": 1}


def _mounts(task: Task, skeleton: Skeleton, *, as_root: bool, deep: bool) -> Iterator[dict[str, object]]:
    bind = partial(_bind, as_root=as_root, deep=deep)
    size = [option for option in size_option(task.limits).split(",") if option]
    yield from map(bind, skeleton.parts)
    for part in skeleton.overlays:
        yield _mount(part.target, "overlay", "nosuid", "nodev", *part.options(as_root=as_root))
    yield _mount(PROC, "proc", "nosuid", "noexec", "nodev")
    yield _mount(DEV, "tmpfs", "nosuid", "strictatime", "mode=755", "size=65536k")
    yield _mount(f"{DEV}/pts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620")
    yield _mount(SHM, "tmpfs", "nosuid", "noexec", "nodev", "mode=1777", *size)
    if (task.host_network or task.joined) and _accounts(task, as_root=as_root):
        # A new sysfs, without the file systems below /sys, may only be mounted by the owner of the network namespace:
        # https://github.com/torvalds/linux/blob/v6.12/fs/sysfs/mount.c
        yield bind(Bind(source=Path(SYS), target=SYS))
    else:
        yield _mount(SYS, "sysfs", "nosuid", "noexec", "nodev", "ro")
    for folder in skeleton.empty:
        yield _mount(folder, "tmpfs", "nosuid", "nodev", "mode=1777", *size)
    yield from map(bind, skeleton.binds)
    for source, target in task.devices:
        options = ["bind", "nosuid", "noexec", "rw"]
        yield {"destination": target, "type": "none", "source": source, "options": options}


def _mount(target: str, kind: str, *options: str) -> dict[str, object]:
    return {"destination": target, "type": kind, "source": kind, "options": list(options)}


def _bind(bind: Bind, *, as_root: bool, deep: bool) -> dict[str, object]:
    # An unprivileged remount must repeat the restrictions of the source, which it may not clear:
    # https://man7.org/linux/man-pages/man7/mount_namespaces.7.html
    noexec = ["noexec"] if os.statvfs(bind.source).f_flag & os.ST_NOEXEC else []
    # `ro` does not affect mounts below (https://github.com/opencontainers/runc/issues/2823). Without `rro`, root leaves
    # them out; other users have no write access to them.
    whole = "rbind" if deep or bind.writable or not as_root else "bind"
    read_only = [] if bind.writable else ["ro", "rro"] if deep else ["ro"]
    options = [whole, "nosuid", "nodev", *noexec, *read_only]
    return {"destination": bind.target, "type": "none", "source": str(bind.source), "options": options}
