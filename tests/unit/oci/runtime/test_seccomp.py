"""The filter of system calls, run by a small machine of this file."""

from __future__ import annotations

import errno
import struct

import pytest

from envbuilder.oci.runtime.seccomp import profile, program

X86_64, I386 = 0xC000003E, 0x40000003
ALLOWED, ERROR = 0x7FFF0000, 0x00050000


def verdict(number: int, argument: int = 0, architecture: int = X86_64) -> int:
    """What the kernel would do: 0 to allow, else the number of the error."""
    data = struct.pack("=IIQQ", number, architecture, 0, argument)
    steps = [struct.unpack_from("=HBBI", program(), at) for at in range(0, len(program()), 8)]
    at = loaded = 0
    while True:
        code, true, false, value = steps[at]
        at += 1
        if code == 0x20:
            loaded = struct.unpack_from("=I", data, value)[0]
        elif code == 0x06:
            return 0 if value == ALLOWED else value & ~ERROR
        else:
            holds = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}[code]
            at += true if holds else false


@pytest.mark.parametrize("number", [0, 1, 2, 41, 57, 59, 202, 257, 439, 1000])
def test_ordinary_and_unknown_calls_are_allowed(number: int) -> None:
    assert verdict(number) == 0


@pytest.mark.parametrize("number", [101, 155, 161, 165, 166, 175, 246, 248, 250, 298, 304, 308, 313, 321, 323, 442])
def test_calls_that_manage_the_kernel_are_refused(number: int) -> None:
    assert verdict(number) == errno.EPERM


@pytest.mark.parametrize("number", [56, 272])
def test_processes_are_made_but_no_namespaces(number: int) -> None:
    assert verdict(number, 0x003D0F00) == 0  # a thread
    for flag in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
        assert verdict(number, flag | 17) == errno.EPERM


def test_clone3_is_unknown_so_that_the_library_takes_clone() -> None:
    assert verdict(435) == errno.ENOSYS


def test_no_other_door_of_the_kernel_is_open() -> None:
    assert verdict(0, architecture=I386) == errno.ENOSYS
    assert verdict(0x40000000 | 165) == errno.ENOSYS


def test_runc_refuses_the_same() -> None:
    rules = profile()["syscalls"]
    assert isinstance(rules, list)
    named = {name for rule in rules for name in rule["names"]}
    steps = [struct.unpack_from("=HBBI", program(), at) for at in range(0, len(program()), 8)]
    assert len(named) == sum(code == 0x15 for code, *_ in steps) - 1  # one compares the architecture
    assert len([rule for rule in rules if rule["names"] == ["clone"]]) == 7
