"""Run `envbuilder` and kill it right before its n-th change of a directory.

Usage: `python killed.py DIRECTORY N WHOM FILE ARGUMENT…`. N counts what is opened for writing, made, renamed, linked
and removed below DIRECTORY, in all threads of this process. WHOM is `process` or `group`, which includes the programs
that it has started. Where it was not killed, FILE gets the number of changes. So a test can interrupt at every point at
which a crash could leave something half done, on machines of any speed.
"""

from __future__ import annotations

import atexit
import itertools
import os
import signal
import sys
from pathlib import Path

_OF_PATHS = {"os.rename", "os.link", "os.symlink", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "shutil.rmtree"}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def main() -> None:
    directory, at, whom, file, *arguments = sys.argv[1:]
    numbers = itertools.count(1)
    last = 0

    def watch(event: str, details: tuple[object, ...]) -> None:
        nonlocal last
        if not (event in _OF_PATHS or (event == "open" and isinstance(details[2], int) and details[2] & _WRITING)):
            return
        if not str(details[0]).startswith(directory):
            return
        # next() of a count is atomic, so no two threads get the same number.
        last = next(numbers)
        if last == int(at):
            (os.killpg if whom == "group" else os.kill)(os.getpid(), signal.SIGKILL)

    atexit.register(lambda: Path(file).write_text(str(last), "utf-8"))
    sys.addaudithook(watch)
    sys.argv = ["envbuilder", *arguments]

    from envbuilder.cli.main import entry  # noqa: PLC0415  after the hook is there

    entry()


if __name__ == "__main__":
    main()
