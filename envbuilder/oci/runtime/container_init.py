"""Program that enters a new root and executes a command; it uses the standard library only.

Usage: `python container_init.py TASK.json FD TERMINAL CONNECTIONS`; errors before the start of the command are written
to the open file FD. TERMINAL is a socket to which the terminal of the command is sent. Each port (two bytes) that
CONNECTIONS receives is answered with a connection to it, or without one if nothing listens there. `-` stands for none.
`python container_init.py --cover COVER.json COMMAND…` is for `interpreter_guard.py`.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import re
import resource
import select
import signal
import socket
import struct
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn, cast

_LIBC = ctypes.CDLL(None, use_errno=True)
_NEW_MOUNTS, _NEW_NAMES, _NEW_IPC = 0x00020000, 0x04000000, 0x08000000
_NEW_ACCOUNTS, _NEW_PIDS, _NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_EXEC, _REMOUNT = 1, 2, 4, 8, 32
_BIND, _RECURSIVE, _PRIVATE = 4096, 16384, 1 << 18
_DETACH = 2
_DIE_WITH_PARENT, _NO_NEW_PRIVILEGES, _DROP_BOUNDING, _AMBIENT, _CLEAR_AMBIENT = 1, 38, 24, 47, 4
_CAN_BE_INSPECTED, _SET_FILTER, _BY_PROGRAM = 4, 22, 2
_CAPABILITIES_3 = 0x20080522
_LAST_CAPABILITY = 63
_SET_FLAGS, _UP = 0x8914, 1
_UNLOCK_TERMINAL, _NUMBER_OF_TERMINAL, _CONTROLLING_TERMINAL = 0x40045431, 0x80045430, 0x540E
_FORWARDED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
_OPENED, _FOLDERS_ONLY = 0x20, 0x01000000
_LINKS_AT_MOST = 40
_NODES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}


class _Refused(Exception):
    """A step that the kernel does not allow."""


class TooManyLinks(_Refused):
    """Symbolic links that lead to each other."""


def _call(name: str, *arguments: object) -> None:
    if getattr(_LIBC, name)(*arguments) != 0:
        raise _Refused(f"{name}{arguments!r}: {os.strerror(ctypes.get_errno())}")


def _control(option: int, value: int) -> None:
    _call("prctl", option, ctypes.c_ulong(value), *(ctypes.c_ulong(0),) * 3)


def _mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    fields = [os.fsencode(field) or None for field in (source, target, kind)]
    _call("mount", *fields, ctypes.c_ulong(flags), os.fsencode(options) or None)


def _bind(source: str, target: str, *, writable: bool) -> None:
    _mount(source, target, flags=_BIND | _RECURSIVE)
    # A remount affects one mount only, none of those below it.
    for place in _mounts_below(target):
        # An unprivileged remount must repeat the restrictions of the source, which it may not clear:
        # https://man7.org/linux/man-pages/man7/mount_namespaces.7.html
        kept = os.statvfs(place).f_flag & (_READ_ONLY | _NO_SUID | _NO_DEVICES | _NO_EXEC)
        _mount("", place, flags=_BIND | _REMOUNT | _NO_SUID | _NO_DEVICES | kept | (0 if writable else _READ_ONLY))


def _mounts_below(target: str) -> list[str]:
    """Return a mount and all below it; a mount that another one hides appears once."""
    top = os.path.realpath(target)
    lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    found = {os.fsdecode(re.sub(rb"\\(\d{3})", _unescaped, line.split()[4])) for line in lines}
    return sorted(place for place in found if place == top or place.startswith(f"{top}/"))


def _unescaped(match: re.Match[bytes]) -> bytes:
    return bytes((int(match[1], 8),))


def _join(path: str) -> None:
    namespace = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    _call("setns", ctypes.c_int(namespace), ctypes.c_int(0))
    os.close(namespace)


def _shares_network(task: dict[str, object]) -> bool:
    return bool(task["host_network"] or task["joined"])


def _unshare(task: dict[str, object]) -> None:
    for path in cast("list[str]", task["joined"]):
        _join(path)
    uid, gid = os.geteuid(), os.getegid()
    flags = _NEW_MOUNTS | _NEW_NAMES | _NEW_IPC | _NEW_PIDS
    flags |= 0 if _shares_network(task) else _NEW_NETWORK
    flags |= _NEW_ACCOUNTS if task["map_accounts"] else 0
    _call("unshare", ctypes.c_int(flags))
    if task["map_accounts"]:
        _write_maps((cast("int", task["uid"]), uid), (cast("int", task["gid"]), gid))


def _build(task: dict[str, object]) -> None:
    root = str(task["root"])
    _mount("", "/", flags=_RECURSIVE | _PRIVATE)
    _mount(root, root, flags=_BIND)
    for bind in _binds(task, "parts"):
        _bind(str(bind["source"]), f"{root}{bind['target']}", writable=False)
    for target, options in cast("list[tuple[str, str]]", task["overlays"]):
        _mount("overlay", f"{root}{target}", "overlay", _NO_SUID | _NO_DEVICES, options)
    _mount("proc", f"{root}/proc", "proc", _NO_SUID | _NO_EXEC | _NO_DEVICES)
    _devices(f"{root}/dev", str(task["size"]))
    for source, target in cast("list[tuple[str, str]]", task["devices"]):
        _make_point(source, f"{root}{target}")
        _mount(source, f"{root}{target}", flags=_BIND)
    # A new sysfs, without the file systems below /sys, may only be mounted by the owner of the network namespace:
    # https://github.com/torvalds/linux/blob/v6.12/fs/sysfs/mount.c
    _system(f"{root}/sys", fresh=not (_shares_network(task) and task["map_accounts"]))
    for folder in cast("list[str]", task["empty"]):
        _mount("tmpfs", f"{root}{folder}", "tmpfs", _NO_SUID | _NO_DEVICES, f"mode=1777{task['size']}")
    for bind in _binds(task, "binds"):
        inside = str(bind["target"])
        target = root + (resolved(root, inside) if task["overlays"] else inside)
        _make_point(str(bind["source"]), target)
        _bind(str(bind["source"]), target, writable=bool(bind["writable"]))
    _protect(root, task)
    if task["overlays"]:
        Path(root + resolved(root, str(task["folder"]))).mkdir(parents=True, exist_ok=True)


def _watch(task: dict[str, object]) -> None:
    """Watch which files of the overlays are opened; write their directories, one a line, the watch of each before it.

    Files of mounts below an overlay are of this host: they are on another device.
    """
    if not task["watch"]:
        return
    number, written = cast("tuple[int, str]", tuple(cast("list[object]", task["watch"])))
    root = str(task["root"])
    tops = [f"{root}{target}" for target, _ in cast("list[tuple[str, str]]", task["overlays"])]
    # All are found before the first is watched, so that looking for them is not reported.
    found = [folder for top in tops for folder in _folders(top, os.lstat(top).st_dev)]
    lines = []
    for folder in found:
        flags = ctypes.c_uint32(_OPENED | _FOLDERS_ONLY)
        watch = _LIBC.inotify_add_watch(ctypes.c_int(number), os.fsencode(folder), flags)
        if watch < 0 and ctypes.get_errno() == errno.ENOSPC:
            raise _Refused(f"{len(found)} watches of directories; sysctl fs.inotify.max_user_watches sets the limit")
        lines.append(b"%d %s\0" % (watch, os.fsencode(folder.removeprefix(root))))
    Path(written).write_bytes(b"".join(lines))
    os.close(number)


def _folders(top: str, device: int) -> list[str]:
    """Return a directory and all below it on its device; those that cannot be read are left out."""
    found, pending = list[str](), [top]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(folder) as entries:
                below = [one.path for one in entries if one.is_dir(follow_symlinks=False)]
        except OSError:
            continue
        found.append(folder)
        pending += [path for path in below if os.lstat(path).st_dev == device]
    return found


def resolved(root: str, path: str) -> str:
    """Return an absolute path with links, which an earlier command may have made, resolved inside a root.

    Missing parts are kept.

    Raises:
        TooManyLinks: Links lead to each other.
    """
    pending, done, links = [part for part in reversed(path.split("/")) if part], list[str](), 0
    while pending:
        part = pending.pop()
        if part in {".", ".."}:
            del done[len(done) - (part == "..") :]
            continue
        place = Path(root, *done, part)
        if not place.is_symlink():
            done.append(part)
            continue
        links += 1
        if links > _LINKS_AT_MOST:
            raise TooManyLinks(f"too many levels of symbolic links: {path}")
        target = str(place.readlink())
        done = [] if target.startswith("/") else done
        pending += [one for one in reversed(target.split("/")) if one]
    return "/" + "/".join(done)


def _binds(task: dict[str, object], name: str) -> list[dict[str, object]]:
    return cast("list[dict[str, object]]", task[name])


def _make_point(source: str, target: str) -> None:
    place = Path(target)
    if place.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    if Path(source).is_dir():
        place.mkdir()
    else:
        place.touch()


def _devices(place: str, size: str) -> None:
    _mount("tmpfs", place, "tmpfs", _NO_SUID, "mode=755,size=65536k")
    for name in _NODES:
        if Path("/dev", name).exists():
            Path(place, name).touch()
            _mount(f"/dev/{name}", f"{place}/{name}", flags=_BIND)
    for name, target in _LINKS.items():
        Path(place, name).symlink_to(target)
    Path(place, "shm").mkdir()
    _mount("tmpfs", f"{place}/shm", "tmpfs", _NO_SUID | _NO_DEVICES | _NO_EXEC, f"mode=1777{size}")
    Path(place, "pts").mkdir()
    try:
        _mount("devpts", f"{place}/pts", "devpts", _NO_SUID | _NO_EXEC, "newinstance,ptmxmode=0666,mode=0620")
        Path(place, "ptmx").symlink_to("pts/ptmx")
    except _Refused:
        pass  # no command needs a terminal


def _system(place: str, *, fresh: bool) -> None:
    guarded = _NO_SUID | _NO_EXEC | _NO_DEVICES | _READ_ONLY
    if fresh:
        _mount("sysfs", place, "sysfs", guarded)
    else:
        _bind("/sys", place, writable=False)


def _protect(root: str, task: dict[str, object]) -> None:
    for path in cast("list[str]", task["locked"]):
        if Path(root + path).exists():
            _bind(root + path, root + path, writable=False)
    for path in cast("list[str]", task["hidden"]):
        place = Path(root + path)
        if place.is_dir():
            _mount("tmpfs", str(place), "tmpfs", _READ_ONLY, "size=0")
        elif place.exists():
            _mount("/dev/null", str(place), flags=_BIND)


def _change_root(root: str, *, writable: bool) -> None:
    os.chdir(root)
    # This puts the old root on top of the new one: https://man7.org/linux/man-pages/man2/pivot_root.2.html, NOTES.
    _call("pivot_root", b".", b".")
    _call("umount2", b".", ctypes.c_int(_DETACH))
    os.chdir("/")
    kept = os.statvfs("/").f_flag & _NO_EXEC
    kept |= 0 if writable else _READ_ONLY
    _mount("", "/", flags=_BIND | _REMOUNT | _NO_SUID | _NO_DEVICES | kept)


def _loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP))


def _drop_privileges(task: dict[str, object]) -> None:
    uid, gid = cast("int", task["uid"]), cast("int", task["gid"])
    if task["own_accounts"]:
        _change_account(uid, gid)
        _map_this_account()
    privileges = cast("list[int]", task["privileges"])
    _forbid_capabilities(privileges)
    if not (task["own_accounts"] or task["map_accounts"]):
        _change_account(uid, gid)
    if os.getresuid() != (uid,) * 3 or os.getresgid() != (gid,) * 3:
        raise _Refused(f"the user {uid}:{gid} became {os.getresuid()}:{os.getresgid()}")
    kept = sum(1 << number for number in privileges)
    _call("capset", struct.pack("II", _CAPABILITIES_3, 0), struct.pack("III12x", kept, kept, 0))
    _control(_NO_NEW_PRIVILEGES, 1)


def _change_account(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


def _map_this_account() -> None:
    """Make a user namespace with this user only; if the kernel refuses, the user still has no privileges."""
    uid, gid = os.geteuid(), os.getegid()
    _control(_CAN_BE_INSPECTED, 1)
    if _LIBC.unshare(ctypes.c_int(_NEW_ACCOUNTS)) == 0:
        _write_maps((uid, uid), (gid, gid))


def _write_maps(uids: tuple[int, int], gids: tuple[int, int]) -> None:
    # Bytes, since encodings are imported on demand, and the new root has no standard library.
    Path("/proc/self/setgroups").write_bytes(b"deny")
    Path("/proc/self/uid_map").write_bytes(b"%d %d 1" % uids)
    Path("/proc/self/gid_map").write_bytes(b"%d %d 1" % gids)


def _forbid_capabilities(kept: list[int]) -> None:
    for number in set(range(_LAST_CAPABILITY + 1)) - set(kept):
        _LIBC.prctl(_DROP_BOUNDING, ctypes.c_ulong(number), 0, 0, 0)  # numbers above the kernel's last one fail
    _LIBC.prctl(_AMBIENT, ctypes.c_ulong(_CLEAR_AMBIENT), 0, 0, 0)


def _limit(task: dict[str, object]) -> None:
    for name, value in cast("dict[str, int]", task["limits"]).items():
        resource.setrlimit(getattr(resource, name), (value, value))


def _filter(task: dict[str, object]) -> None:
    program = bytes.fromhex(str(task["filter"]))
    if not program:
        return
    steps = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HP", len(program) // 8, ctypes.addressof(steps))
    _call("prctl", _SET_FILTER, ctypes.c_ulong(_BY_PROGRAM), header, *(ctypes.c_ulong(0),) * 2)


def _become(task: dict[str, object]) -> NoReturn:
    root = str(task["root"])
    _control(_DIE_WITH_PARENT, signal.SIGKILL)
    _build(task)
    _watch(task)
    _change_root(root, writable=bool(task["overlays"]))
    _call("sethostname", b"envbuilder", ctypes.c_size_t(10))
    if not _shares_network(task):
        _loopback()
    os.umask(0o022)
    terminal = _open_terminal(task) if task["terminal"] else None
    _limit(task)
    _drop_privileges(task)
    # A change of the user resets it: https://man7.org/linux/man-pages/man2/prctl.2.html, PR_SET_PDEATHSIG.
    _control(_DIE_WITH_PARENT, signal.SIGKILL)
    os.chdir(str(task["folder"]))
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    _filter(task)
    if task["init"]:
        _be_init()
    if terminal is not None:
        _use_terminal(terminal)
    command = cast("list[str]", task["command"])
    try:
        os.execvpe(command[0], command, cast("dict[str, str]", task["env"]))  # noqa: S606  executes the command
    except (FileNotFoundError, NotADirectoryError):
        _end(f"exec: {command[0]}: executable file not found", 127)
    except OSError as error:
        _end(f"exec: {command[0]}: {error.strerror}", 126)


def _open_terminal(task: dict[str, object]) -> int:
    """Open a terminal of the new root; send its other side away."""
    try:
        away = os.open("/dev/pts/ptmx", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        fcntl.ioctl(away, _UNLOCK_TERMINAL, bytes(4))
        number = int.from_bytes(fcntl.ioctl(away, _NUMBER_OF_TERMINAL, bytes(4)), sys.byteorder)
        terminal = os.open(f"/dev/pts/{number}", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise _Refused(f"terminal: {error.strerror}") from error
    os.fchown(terminal, cast("int", task["uid"]), cast("int", task["gid"]))
    with socket.socket(fileno=cast("int", task["terminal"])) as control:
        socket.send_fds(control, [b"t"], [away])
    os.close(away)
    return terminal


def _use_terminal(terminal: int) -> None:
    os.setsid()
    fcntl.ioctl(terminal, _CONTROLLING_TERMINAL, 0)
    for number in range(3):
        os.dup2(terminal, number)
    # What a script starts in the background ignores these, and a shell cannot trap what it ignored from its start.
    for number in (signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def _be_init() -> None:
    """Continue in a child only. This process passes signals on to it, and ends with its status.

    The kernel does not deliver signals to process 1 that it has no handler for: https://man7.org/linux/man-pages/man7/pid_namespaces.7.html
    """
    child = _fork()
    if child:
        os._exit(_wait_for(child, _FORWARDED))


def _fork() -> int:
    """Fork; in the parent, signals stay pending until `_wait_for` can pass them on to the child."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (*_FORWARDED, signal.SIGCHLD))
    child = os.fork()
    if not child:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return child


def _wait_for(child: int, forwarded: Iterable[signal.Signals], connections: int | None = None) -> int:
    """Pass signals on to a child until it ends; return its status.

    A handler in Python runs after the system call that its signal arrived before, and the descriptor ends that call:
    https://docs.python.org/3/library/signal.html#signal.set_wakeup_fd

    Args:
        child: Result of `_fork`.
        forwarded: Signals that are passed on.
        connections: Socket with requests for connections; None if there are none.
    """
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in forwarded:
        signal.signal(number, lambda number, _: os.kill(child, number))
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (*_FORWARDED, signal.SIGCHLD))
    requests = [] if connections is None else [connections]
    while (status := _reaped(child)) is None:
        ready, _, _ = select.select([woken, *requests], [], [])
        if woken in ready:
            os.read(woken, 4096)
        elif connections is not None:
            _connect(connections)
    return status


def _reaped(child: int) -> int | None:
    """Reap all children that have ended; return the status of this one if it is among them."""
    while True:
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended in (0, child):
            return _status(status) if ended else None


def _status(ended: int) -> int:
    return os.WEXITSTATUS(ended) if os.WIFEXITED(ended) else 128 + os.WTERMSIG(ended)


def _end(text: str, status: int) -> NoReturn:
    os.write(2, f"{text}\n".encode())
    os._exit(status)


_PASSED_ON = ("LANG", "LC_ALL", "PATH", "PYTHONPATH", "SOURCE_DATE_EPOCH", "VIRTUAL_ENV")


def cover(described: str, command: list[str]) -> NoReturn:
    """Execute a command for which a script covers the file of an interpreter."""
    plan = json.loads(Path(described).read_bytes())
    uid, gid = os.geteuid(), os.getegid()
    _call("unshare", ctypes.c_int(_NEW_MOUNTS | (_NEW_ACCOUNTS if uid else 0)))
    if uid:
        _write_maps((uid, uid), (gid, gid))
    _mount("", "/", flags=_RECURSIVE | _PRIVATE)
    _mount(plan["interpreter"], plan["kept"], flags=_BIND)
    _mount(plan["script"], plan["interpreter"], flags=_BIND)
    os.execv(command[0], command)  # noqa: S606  executes the command


def continue_inside(described: str, command: list[str], environ: dict[str, str]) -> NoReturn:
    """Run an interpreter's command line in a sandbox, in the same directory and with the same open streams."""
    task = json.loads(Path(described).read_bytes())
    env = {name: environ[name] for name in _PASSED_ON if name in environ}
    env["HOME"] = "/tmp"  # noqa: S108  in the new root
    here = str(Path.cwd())
    there = any(bind["writable"] and f"{here}/".startswith(f"{bind['target']}/") for bind in _binds(task, "binds"))
    task.update(terminal=None, connections=None)
    _run({**task, "command": command, "env": env, "folder": here if there else "/"}, 2)


def main(described: str, trouble: int, terminal: str, connections: str) -> NoReturn:
    """Read the task, and execute it in a child, since only a child is in the new PID namespace."""
    os.set_inheritable(trouble, False)  # noqa: FBT003  takes no keyword
    task = json.loads(Path(described).read_bytes())
    files = {"terminal": terminal, "connections": connections}
    for name, number in files.items():
        task[name] = int(number) if number != "-" else None
        if task[name] is not None:
            os.set_inheritable(task[name], False)  # noqa: FBT003  takes no keyword
    if task["watch"]:
        os.set_inheritable(task["watch"][0], False)  # noqa: FBT003  takes no keyword
    _run(task, trouble)


def _run(task: dict[str, object], trouble: int) -> NoReturn:
    try:
        _control(_DIE_WITH_PARENT, signal.SIGKILL)
        _unshare(task)
        child = _fork()
        if not child:
            _become(task)
        if task["terminal"] is not None:
            os.close(cast("int", task["terminal"]))
        status = _wait_for(child, _FORWARDED if task["init"] else (), cast("int | None", task["connections"]))
    except (_Refused, OSError) as error:
        os.write(trouble, str(error).encode("utf-8", "replace"))
        os._exit(125)
    os._exit(status)


def _connect(requests: int) -> None:
    """Answer a request for a connection; this process is in the network namespace of the command.

    It is in the new root too, where nothing can be imported any more: https://man7.org/linux/man-pages/man2/pivot_root.2.html
    """
    control = socket.socket(fileno=requests)
    port = int.from_bytes(control.recv(2, socket.MSG_WAITALL), "big")
    try:
        # `create_connection` imports an encoding for the name of the host, and `send_fds` imports array.
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
            connection.connect(("127.0.0.1", port))
            given = struct.pack("i", connection.fileno())
            control.sendmsg([b"c"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, given)])
    except OSError:
        control.send(b"-")
    finally:
        control.detach()


if __name__ == "__main__":
    if sys.argv[1] == "--cover":
        cover(sys.argv[2], sys.argv[3:])
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4])
