"""Filter of system calls for a command in a sandbox.

All other calls are allowed, since images contain arbitrary programs. Source: the Docker engine's default profile
(https://github.com/moby/moby/tree/v26.1.0/profiles/seccomp), the calls of the newer mount interface, and those that
inspect other processes. Numbers: https://github.com/torvalds/linux/blob/v6.12/arch/x86/entry/syscalls/syscall_64.tbl
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Mapping

_REFUSED: Mapping[str, int] = {
    "acct": 163,
    "add_key": 248,
    "adjtimex": 159,
    "bpf": 321,
    "chroot": 161,
    "clock_adjtime": 305,
    "clock_settime": 227,
    "delete_module": 176,
    "fanotify_init": 300,
    "finit_module": 313,
    "fsconfig": 431,
    "fsmount": 432,
    "fsopen": 430,
    "fspick": 433,
    "init_module": 175,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "io_uring_setup": 425,
    "ioperm": 173,
    "iopl": 172,
    "kexec_file_load": 320,
    "kexec_load": 246,
    "keyctl": 250,
    "lookup_dcookie": 212,
    "mount": 165,
    "mount_setattr": 442,
    "move_mount": 429,
    "open_by_handle_at": 304,
    "open_tree": 428,
    "perf_event_open": 298,
    "pivot_root": 155,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "ptrace": 101,
    "quotactl": 179,
    "reboot": 169,
    "request_key": 249,
    "setdomainname": 171,
    "sethostname": 170,
    "setns": 308,
    "settimeofday": 164,
    "swapoff": 168,
    "swapon": 167,
    "syslog": 103,
    "umount2": 166,
    "userfaultfd": 323,
    "vhangup": 153,
}
ALONE: Mapping[str, int] = {
    "connect": 42,
    "kill": 62,
    "msgget": 68,
    "pidfd_send_signal": 424,
    "rt_sigqueueinfo": 129,
    "rt_tgsigqueueinfo": 297,
    "semget": 64,
    "setpgid": 109,
    "setsid": 112,
    "shmget": 29,
    "socket": 41,
    "tgkill": 234,
    "tkill": 200,
}
"""Further refused calls without namespaces: those that reach the network or other processes, or leave the group."""

_WITH_FLAGS = {"clone": 56, "unshare": 272}
_CLONE3 = 435
_X32 = 0x40000000
_X86_64 = 0xC000003E  # AUDIT_ARCH_X86_64
_CLONE_NEW = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


def is_filtered() -> bool:
    """Return True on a machine with these numbers of system calls."""
    return os.uname().machine == "x86_64"


def program(more: Mapping[str, int] | None = None) -> bytes:
    """Return the filter as a classic BPF program, an array of `struct sock_filter`.

    The system calls of `more` are refused too.

    clone3 fails with ENOSYS, because a filter cannot read its flags; the C library then uses clone:
    https://github.com/moby/moby/pull/42681.
    """
    # Targets: 0 allow, 1 not permitted, 2 not implemented, "next" the following instruction.
    refused = [(_EQUAL, number, 1, "next") for number in sorted({**_REFUSED, **(more or {})}.values())]
    flagged = [(_EQUAL, number, "flags", "next") for number in _WITH_FLAGS.values()]
    steps: list[tuple[int, int, int | str, int | str]] = [
        (_LOAD, _ARCHITECTURE, "next", "next"),
        (_EQUAL, _X86_64, "next", 2),
        (_LOAD, _NUMBER, "next", "next"),
        (_AT_LEAST, _X32, 2, "next"),
        (_EQUAL, _CLONE3, 2, "next"),
        *flagged,
        *refused,
        (_RETURN, _ALLOW, "next", "next"),
        (_LOAD, _FIRST_ARGUMENT, "next", "next"),
        (_ANY_BIT, sum(_CLONE_NEW), 1, 0),
        (_RETURN, _ALLOW, "next", "next"),
        (_RETURN, _ERROR | errno.EPERM, "next", "next"),
        (_RETURN, _ERROR | errno.ENOSYS, "next", "next"),
    ]
    end = len(steps)
    places: Mapping[int | str, int] = {0: end - 3, 1: end - 2, 2: end - 1, "flags": end - 5}

    def distance(target: int | str, here: int) -> int:
        return 0 if target == "next" else places[target] - here - 1

    return b"".join(
        struct.pack("=HBBI", code, distance(true, here), distance(false, here), value)
        for here, (code, value, true, false) in enumerate(steps)
    )


def profile() -> Mapping[str, object]:
    """Return the same filter as `linux.seccomp` of an OCI runtime configuration."""
    refusal = {"action": "SCMP_ACT_ERRNO", "errnoRet": errno.EPERM}
    flags = [[{"index": 0, "value": flag, "valueTwo": flag, "op": "SCMP_CMP_MASKED_EQ"}] for flag in _CLONE_NEW]
    return {
        "defaultAction": "SCMP_ACT_ALLOW",
        "architectures": ["SCMP_ARCH_X86_64"],
        "syscalls": [
            {"names": sorted(_REFUSED), **refusal},
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS},
            *({"names": [name], **refusal, "args": args} for name in _WITH_FLAGS for args in flags),
        ],
    }
