"""Users of this host in an image that does not know them."""

from __future__ import annotations

from dataclasses import dataclass

from envbuilder.oci.runtime.command import Caller

PASSWD, GROUP = "/etc/passwd", "/etc/group"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A user of an image.

    Attributes:
        home: Home directory; need not exist.
        files: `(absolute path, content)` of the lists that have to be replaced for this; empty if the image knows
            the user.
    """

    uid: int
    gid: int
    home: str
    files: tuple[tuple[str, bytes], ...]


def registered(caller: Caller, passwd: bytes, group: bytes) -> Registered:
    """Return a user of this host as a user of an image; the user keeps the name, unless another one has it there.

    Without an entry, `getpass.getuser()` and shells have no name for the user.
    """
    users, groups = _entries(passwd, 6), _entries(group, 3)
    known = next((entry for entry in users if entry[2] == str(caller.uid)), None)
    files = []
    if not known:
        name = _free(caller.name, caller.uid, {entry[0] for entry in users})
        home = f"/home/{name}"
        files.append((PASSWD, _with_line(passwd, f"{name}:x:{caller.uid}:{caller.gid}::{home}:/bin/sh")))
    else:
        home = known[5]
    if not any(entry[2] == str(caller.gid) for entry in groups):
        name = _free(caller.name, caller.gid, {entry[0] for entry in groups})
        files.append((GROUP, _with_line(group, f"{name}:x:{caller.gid}:")))
    return Registered(uid=caller.uid, gid=caller.gid, home=home, files=tuple(files))


def _entries(content: bytes, fields: int) -> list[list[str]]:
    lines = (line.split(":") for line in content.decode("utf-8", "replace").splitlines())
    return [line for line in lines if len(line) >= fields]


def _free(name: str, number: int, taken: set[str]) -> str:
    usable = name and name not in taken and not set(name) & set(":/\n\0") and not name.startswith(".")
    return name if usable else f"user-{number}"


def _with_line(content: bytes, line: str) -> bytes:
    return content + (b"" if not content or content.endswith(b"\n") else b"\n") + f"{line}\n".encode()
