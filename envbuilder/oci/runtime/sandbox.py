"""Port to a sandbox, which runs a command in a root file system; each implementation is a file beside this one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Protocol

from envbuilder.oci.runtime.command import Console, PublishedPort, RunResult
from envbuilder.oci.runtime.processes import Cancellation

GIB = 1 << 30
FOREIGN = 65533
"""User and group of untrusted code if the caller is root. Debian reserves 65000 to 65533, so that they own no files:
https://www.debian.org/doc/debian-policy/ch-opersys.html#uid-and-gid-classes"""

FILE_PRIVILEGES = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "FSETID": 4, "KILL": 5, "SETGID": 6, "SETUID": 7}
"""Capabilities of root in an image that it may change: those of Docker's default that concern files and users.

Source: https://github.com/moby/moby/blob/v26.1.0/oci/caps/defaults.go, and include/uapi/linux/capability.h
"""


MASKED_PATHS = (
    "/proc/acpi",
    "/proc/asound",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/firmware",
    "/sys/fs/cgroup",
)
READONLY_PATHS = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
"""Paths that expose the host even to unprivileged users.

Source: the default lists of the Docker engine, https://github.com/moby/moby/blob/v26.1.0/oci/defaults.go
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Resource limits of a command; 0 for that of the caller.

    Attributes:
        memory: Bytes of address space of each process; of all processes together if runc runs as root.
        seconds: Processor time of each process.
        processes: Maximum of simultaneous processes and threads. The kernel does not apply it to root of this host;
            only runc as root can.
        file: Bytes of each written file, and of each temporary file system.
        output: Maximum of kept bytes of standard output and error; a command that writes more is killed.
    """

    memory: int = 0
    seconds: int = 0
    processes: int = 32768
    file: int = 0
    output: int = 32 << 20


BUILD_LIMITS = Limits(memory=3 * GIB, seconds=900, processes=512, file=4 * GIB, output=4 << 20)
"""Limits of untrusted code during a lock, a build or a delivery. The largest use measured is 0.4 GiB and 60 s, for the
bytecode of TensorFlow 2.15 (2026-11-22)."""

SCRIPT_LIMITS = replace(BUILD_LIMITS, memory=900 << 20)
"""Limits of build scripts, which run setuptools and no compiler. A script that asks for more memory fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedNetwork:
    """A network namespace that exists.

    Attributes:
        network: Path of the namespace, such as `/proc/123/ns/net`.
        accounts: Path of the user namespace that owns it; empty if it is that of this host.
    """

    network: str
    accounts: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One command in a root file system, with all settings resolved.

    Attributes:
        tree: The root file system; never changed.
        command: Program and arguments; at least one word.
        env: The complete environment.
        folder: Working directory, absolute in the tree; created if it is missing.
        asked: Whether the caller requested that user; otherwise it is the image's, and another one is acceptable.
        files: `(absolute path, content)`, readable by all users.
        mounts: `(path on this host, absolute path)`, read-only.
        host_network: Whether it uses the network of this host; otherwise it has none.
        joined: Network namespace to use instead of a new one without network; not with `host_network`.
        timeout: Seconds after which all its processes are killed.
        copy_out: Absolute path of one file to read after it has ended; empty for none.
        shared: `(path on this host, absolute path)`, writable.
        console: Standard streams of a user who follows it; the result then has no output, and signals that ask this
            process to end are passed on to it first.
        given: Open file for standard input without a console; None for an empty one.
        changes: Directory of this host that receives its changes of the tree; None for a read-only tree. Only then
            root of this host keeps the privileges over files that programs such as apt need.
        devices: `(path on this host, absolute path below /dev)` of further device nodes.
        answer: Open file for standard output; the result then has none.
        hidden: Absolute paths, with links resolved, of files and directories of the tree that appear empty.
        cancellation: Ends it before its timeout; None for never.
        opened: Receives the absolute path of each file of the tree that the command or one of its children opens, from
            another thread, possibly several times; None to watch nothing. Only with `changes`.
    """

    tree: Path
    command: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    folder: str = "/"
    uid: int = 0
    gid: int = 0
    asked: bool = False
    files: tuple[tuple[str, bytes], ...] = ()
    mounts: tuple[tuple[str, str], ...] = ()
    host_network: bool = False
    joined: JoinedNetwork | None = None
    timeout: float = 600.0
    copy_out: str = ""
    shared: tuple[tuple[str, str], ...] = ()
    console: Console | None = None
    given: IO[bytes] | None = None
    changes: Path | None = None
    devices: tuple[tuple[str, str], ...] = ()
    ports: tuple[PublishedPort, ...] = ()
    answer: IO[bytes] | None = None
    limits: Limits = Limits()
    hidden: tuple[str, ...] = ()
    cancellation: Cancellation | None = None
    opened: Callable[[str], None] | None = None

    @property
    def has_terminal(self) -> bool:
        """True if it gets a terminal, connected to that of this process."""
        return self.console is not None and self.console.terminal


def has_privileges(task: Task, *, as_root: bool) -> bool:
    """Return True if a command keeps `FILE_PRIVILEGES`: root of this host, in a tree that it may change."""
    return as_root and task.changes is not None and task.uid == 0


class Sandbox(Protocol):
    """Sandbox for commands.

    The tree is read-only, unless there is a directory for changes; `/tmp`, `/run` and `/dev/shm` are empty and
    writable. Processes cannot gain privileges, and the only devices are those of every container and the named ones.
    """

    @property
    def name(self) -> str:
        """Name."""
        ...

    @property
    def version(self) -> str:
        """Version of the program, or of the kernel."""
        ...

    def run(self, task: Task) -> RunResult:
        """Run a command; when this returns or raises, none of its processes and files is left.

        A command that cannot be started gives the status of a shell: 127 not found, 126 not executable.

        Raises:
            ToolFailed: The sandbox does not work on this machine, or the command exceeded the limit of its output.
            UsageError: The sandbox does not support the task.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptedSandbox:
    """`Sandbox` that changes each task before another one runs it."""

    sandbox: Sandbox
    change: Callable[[Task], Task]

    @property
    def name(self) -> str:
        """See `Sandbox.name`."""
        return self.sandbox.name

    @property
    def version(self) -> str:
        """See `Sandbox.version`."""
        return self.sandbox.version

    def run(self, task: Task) -> RunResult:
        """See `Sandbox.run`."""
        return self.sandbox.run(self.change(task))
