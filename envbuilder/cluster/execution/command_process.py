"""The program that runs a command of envbuilder for a worker.

It ends with its worker, and is killed before it if the machine runs out of memory.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys
from contextlib import suppress
from pathlib import Path

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG in linux/prctl.h
_FIRST_TO_GO = "1000"
"""Highest value of `oom_score_adj`: https://docs.kernel.org/filesystems/proc.html"""


def main() -> None:
    """Run the command line in `sys.argv`; the first argument is the process id of the worker."""
    worker = int(sys.argv.pop(1))
    # Stopped as by the user, so that it cleans up.
    ctypes.CDLL(None, use_errno=True).prctl(_DIE_WITH_PARENT, ctypes.c_ulong(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != worker:
        sys.exit(128 + signal.SIGTERM)
    # A command that needs too much memory must not take its worker along, which other commands need.
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO, encoding="ascii")
    runpy.run_module("envbuilder", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
