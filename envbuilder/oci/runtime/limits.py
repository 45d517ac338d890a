"""Resource limits of a command, in the forms of the kernel, runc and file systems."""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Mapping
from pathlib import Path

from envbuilder.oci.runtime.sandbox import Limits

_COUNTED_APART = (5, 14)
"""First kernel that counts the processes of a user separately in each user namespace (ucounts)."""


def rlimits(limits: Limits, *, shared_account: bool) -> Mapping[str, int]:
    """Return the limits of a process by their names in `resource`, none above the limit of this process.

    With `shared_account`, the command runs as the caller, whose other processes count too on an old kernel.
    """
    others = _own_threads() if shared_account and limits.processes and kernel() < _COUNTED_APART else 0
    wanted = {
        "RLIMIT_AS": limits.memory,
        "RLIMIT_CPU": limits.seconds,
        "RLIMIT_NPROC": limits.processes and limits.processes + others,
        "RLIMIT_FSIZE": limits.file,
        # A core file would be written to the working directory, or passed to a program of this host.
        "RLIMIT_CORE": 0,
    }
    return {name: _lowered(name, value) for name, value in wanted.items() if value or name == "RLIMIT_CORE"}


def _lowered(name: str, value: int) -> int:
    _, hard = resource.getrlimit(getattr(resource, name))
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def size_option(limits: Limits) -> str:
    """Return the size as the end of the mount options of a tmpfs."""
    return f",size={limits.file}" if limits.file else ""


def kernel() -> tuple[int, ...]:
    """Return the first two numbers of the kernel's release."""
    return tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])


def _own_threads() -> int:
    """Return the number of threads of this user on this host."""
    uid, total = os.getuid(), 0
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if path.stat().st_uid == uid:
                total += len(list((path / "task").iterdir()))
        except OSError:
            continue
    return total
