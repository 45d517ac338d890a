"""Program that makes linked network namespaces and keeps them until its standard input ends.

Usage: `python network_init.py COUNT`; it uses the standard library only. Each namespace stands for one machine of a
network: every two of them are connected by a pair of virtual interfaces. COUNT 1 makes one namespace with a loopback
interface. Prints one JSON document: `{"networks": [PATH…], "accounts": PATH}`, where `accounts` is the user namespace
that owns them, empty if this host's owns them; or `{"error": TEXT}`.

Source: https://man7.org/linux/man-pages/man7/rtnetlink.7.html
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import socket
import struct
import sys
from itertools import combinations
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_NEW_ACCOUNTS, _NEW_NETWORK = 0x10000000, 0x40000000
_SET_FLAGS, _UP = 0x8914, 1
_NEW_LINK, _NEW_ADDRESS, _ERROR = 16, 20, 2
_REQUEST, _ACKNOWLEDGE, _CREATE, _EXCLUSIVE = 1, 4, 0x400, 0x200
_LINK_NAME, _LINK_INFO, _NETWORK_BY_FILE = 3, 18, 28
_INFO_KIND, _INFO_DATA, _PEER = 1, 2, 1
_ADDRESS, _LOCAL = 1, 2
_ALONE = 32  # prefix length of a single address
_HEADER, _LINK, _ADDRESS_HEADER, _ATTRIBUTE = "=IHHII", "=BxHiII", "=BBBBI", "=HH"


def address(number: int) -> str:
    """Return the address of a namespace, counted from 0."""
    return f"10.83.0.{number + 1}"


def _call(name: str, *arguments: object) -> None:
    if getattr(_LIBC, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _attribute(kind: int, content: bytes) -> bytes:
    length = 4 + len(content)
    return struct.pack(_ATTRIBUTE, length, kind) + content + bytes(-length % 4)


def _text(kind: int, value: str) -> bytes:
    return _attribute(kind, value.encode() + b"\0")


def _request(kind: int, body: bytes) -> None:
    """Send one request to the kernel; raise `OSError` if it refuses it."""
    flags = _REQUEST | _ACKNOWLEDGE | _CREATE | _EXCLUSIVE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.bind((0, 0))
        kernel.send(struct.pack(_HEADER, 16 + len(body), kind, flags, 1, 0) + body)
        answer = kernel.recv(1 << 16)
    (number,) = struct.unpack_from("=i", answer, 16)
    if struct.unpack_from(_HEADER, answer)[1] == _ERROR and number:
        raise OSError(-number, os.strerror(-number))


def _add_pair(name: str, other_name: str, other: int) -> None:
    """Add a pair of interfaces, one here and one in the namespace of an open file."""
    nothing = struct.pack(_LINK, 0, 0, 0, 0, 0)
    peer = nothing + _text(_LINK_NAME, other_name) + _attribute(_NETWORK_BY_FILE, struct.pack("=i", other))
    data = _text(_INFO_KIND, "veth") + _attribute(_INFO_DATA, _attribute(_PEER, peer))
    _request(_NEW_LINK, nothing + _text(_LINK_NAME, name) + _attribute(_LINK_INFO, data))


def _add_address(name: str, own: str, peer: str) -> None:
    """Give an interface its address, and route that of its peer to it."""
    head = struct.pack(_ADDRESS_HEADER, socket.AF_INET, _ALONE, 0, 0, socket.if_nametoindex(name))
    ends = ((_LOCAL, own), (_ADDRESS, peer))
    _request(_NEW_ADDRESS, head + b"".join(_attribute(kind, socket.inet_aton(text)) for kind, text in ends))


def _start_interface(name: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", name.encode(), _UP))


def _new_namespace() -> int:
    _call("unshare", ctypes.c_int(_NEW_NETWORK))
    _start_interface("lo")
    return os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _enter(namespace: int) -> None:
    _call("setns", ctypes.c_int(namespace), ctypes.c_int(_NEW_NETWORK))


def _connect(namespaces: list[int], one: int, other: int) -> None:
    _enter(namespaces[one])
    _add_pair(f"worker{other}", f"worker{one}", namespaces[other])
    for here, there in ((one, other), (other, one)):
        _enter(namespaces[here])
        _add_address(f"worker{there}", address(here), address(there))
        _start_interface(f"worker{there}")


def _own_accounts() -> bool:
    """Return whether a user namespace was made, in which this process may make networks."""
    uid, gid = os.geteuid(), os.getegid()
    try:
        _call("unshare", ctypes.c_int(_NEW_NETWORK))
    except OSError as error:
        if error.errno != errno.EPERM:
            raise
    else:
        return False
    _call("unshare", ctypes.c_int(_NEW_ACCOUNTS))
    Path("/proc/self/setgroups").write_bytes(b"deny")
    Path("/proc/self/uid_map").write_bytes(b"0 %d 1" % uid)
    Path("/proc/self/gid_map").write_bytes(b"0 %d 1" % gid)
    return True


def made(count: int) -> dict[str, object]:
    """Make the namespaces; return the document that describes them."""
    try:
        accounts = f"/proc/{os.getpid()}/ns/user" if _own_accounts() else ""
        namespaces = [_new_namespace() for _ in range(count)]
        for one, other in combinations(range(count), 2):
            _connect(namespaces, one, other)
    except OSError as error:
        return {"error": str(error)}
    return {"networks": [f"/proc/{os.getpid()}/fd/{each}" for each in namespaces], "accounts": accounts}


if __name__ == "__main__":
    print(json.dumps(made(int(sys.argv[1]))), flush=True)
    sys.stdin.buffer.read()
