"""Program that drops privileges by Landlock and a filter of system calls, and executes a command.

It uses the standard library only.

Usage: `python landlock_init.py TASK.json FD`; errors before the start of the command are written to the open file FD.
Source: https://www.kernel.org/doc/html/v6.12/userspace-api/landlock.html, and include/uapi/linux/landlock.h of 6.12.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import struct
import sys
from pathlib import Path
from typing import NoReturn, cast

_LIBC = ctypes.CDLL(None, use_errno=True)
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1
_PATH_BENEATH = 1
EXECUTE, _WRITE_FILE, READ_FILE, READ_DIR = (1 << bit for bit in range(4))
_RIGHTS_OF_VERSION = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""Number of access rights on files in each version, as bits; later versions have no more."""

_DIE_WITH_PARENT, _NO_NEW_PRIVILEGES, _SET_FILTER, _BY_PROGRAM = 1, 38, 22, 2
_CAPABILITIES_3 = 0x20080522


def version() -> int:
    """Return the version of Landlock in this kernel; 0 if it is missing or disabled."""
    return max(0, int(_LIBC.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(_VERSION))))


def _checked(result: int, what: str) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def _restrict(rules: list[tuple[str, int]]) -> None:
    """Restrict access to files to the rules: paths, and the rights on each and everything below."""
    handled = (1 << _RIGHTS_OF_VERSION.get(version(), max(_RIGHTS_OF_VERSION.values()))) - 1
    attributes = struct.pack("=Q", handled)
    ruleset = _checked(_LIBC.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(8), ctypes.c_uint(0)), "landlock")
    for path, rights in rules:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
        rule = struct.pack("=Qi", rights & handled, place)
        _checked(_LIBC.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, ctypes.c_uint(0)), path)
        os.close(place)
    _checked(_LIBC.syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint(0)), "landlock")
    os.close(ruleset)


def _drop_rights(task: dict[str, object]) -> None:
    for name, value in cast("dict[str, int]", task["limits"]).items():
        resource.setrlimit(getattr(resource, name), (value, value))
    _checked(_LIBC.capset(struct.pack("II", _CAPABILITIES_3, 0), bytes(24)), "capset")
    nothing = (ctypes.c_ulong(0),) * 3
    _checked(_LIBC.prctl(_NO_NEW_PRIVILEGES, ctypes.c_ulong(1), *nothing), "no_new_privs")
    _checked(_LIBC.prctl(_DIE_WITH_PARENT, ctypes.c_ulong(signal.SIGKILL), *nothing), "pdeathsig")
    _restrict([(path, rights) for path, rights in cast("list[tuple[str, int]]", task["rules"])])
    program = bytes.fromhex(str(task["filter"]))
    steps = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HP", len(program) // 8, ctypes.addressof(steps))
    _checked(_LIBC.prctl(_SET_FILTER, ctypes.c_ulong(_BY_PROGRAM), header, *(ctypes.c_ulong(0),) * 2), "seccomp")


def main(described: str, trouble: int) -> NoReturn:
    """Read the task and execute it."""
    os.set_inheritable(trouble, False)  # noqa: FBT003  takes no keyword
    task = json.loads(Path(described).read_bytes())
    command = cast("list[str]", task["command"])
    try:
        os.umask(0o022)
        os.chdir(str(task["folder"]))
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        _drop_rights(task)
    except OSError as error:
        os.write(trouble, str(error).encode("utf-8", "replace"))
        os._exit(125)
    try:
        os.execve(command[0], command, cast("dict[str, str]", task["env"]))  # noqa: S606  executes the command
    except (FileNotFoundError, NotADirectoryError):
        _end(f"exec: {command[0]}: executable file not found", 127)
    except OSError as error:
        _end(f"exec: {command[0]}: {error.strerror}", 126)


def _end(text: str, status: int) -> NoReturn:
    os.write(2, f"{text}\n".encode())
    os._exit(status)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
