"""The port to what runs a command in a root file system. One file per way beside this one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from envbuilder.oci.runtime.command import Output, RunResult

GIB = 1 << 30
FOREIGN = 65533
"""Account and group that foreign code runs as where the caller is root. Debian reserves 65000 to 65533 (policy 9.2.2),
so it owns nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of a command; 0 means that of the caller.

    Attributes:
        memory: Bytes of address space of each process; of all processes together where runc runs as root.
        seconds: Processor time of each process.
        processes: How many processes and threads there may be at once. The kernel does not apply it to the account
            root of this host, where only runc as root can.
        file: Bytes of each file that is written, and of each temporary file system.
        output: Bytes of standard output and error that are kept; a command that writes more is killed.
    """

    memory: int = 0
    seconds: int = 0
    processes: int = 32768
    file: int = 0
    output: int = 32 << 20


BUILD_LIMITS = Limits(memory=3 * GIB, seconds=900, processes=512, file=4 * GIB, output=4 << 20)
"""Of foreign code that runs during a lock, a build or a delivery. The largest need seen is 0.4 GiB and 60 s: bytecode
of TensorFlow 2.15 (2026-11-22)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One command in a root file system, with nothing left to look up.

    Attributes:
        tree: The root file system; it is never changed.
        command: Program and arguments; at least one word.
        env: The whole environment.
        folder: Where the command starts, absolute in the tree; made when it is missing.
        uid: Account to run as.
        gid: Its group.
        asked: Whether that account was asked for; otherwise it is that of the image, and another one will do.
        files: `(absolute path, content)`, readable by everybody.
        mounts: `(path on this host, absolute path)`, read-only.
        host_network: Whether it shares the network of this host; otherwise it has none.
        timeout: Seconds after which everything that it started is killed.
        copy_out: Absolute path of one file to read when it has ended; empty for none.
        shared: `(path on this host, absolute path)` that it can change.
        output: Gets what it writes as it comes; then the result has none of it.
        given: Open file that it reads as standard input; None for nothing.
        answer: Open file that it writes standard output to; then the result has none of it.
        limits: What it may use.
        hidden: Absolute paths, without links, of files and folders of the tree that are empty for the command.
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
    timeout: float = 600.0
    copy_out: str = ""
    shared: tuple[tuple[str, str], ...] = ()
    output: Output | None = None
    given: IO[bytes] | None = None
    answer: IO[bytes] | None = None
    limits: Limits = Limits()
    hidden: tuple[str, ...] = ()


class Sandbox(Protocol):
    """Runs commands.

    The tree is read-only; `/tmp`, `/run` and `/dev/shm` are empty and can be written. Nothing can gain privileges, and
    there are no devices but those of every container.
    """

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def version(self) -> str:
        """Version of the program, or of the kernel."""
        ...

    def run(self, task: Task) -> RunResult:
        """Run a command; nothing of it runs any more, and nothing is left of it, when this returns or raises.

        A command that cannot be started is a result as in a shell: 127 not found, 126 not executable.

        Raises:
            ToolFailed: This way to run commands does not work here, or the command wrote more than its limit.
            UsageError: The task asks for what this way cannot do.
        """
        ...
