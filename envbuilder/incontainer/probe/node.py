"""The machine as a node of a cluster: directories, user namespaces, network, clock, scheduler."""

import ctypes
import errno
import fcntl
import os
import re
import tempfile
import time

from envbuilder.incontainer.probe.children import Steps, given_directory
from envbuilder.incontainer.probe.values import content_of, text

NODE_STEPS = ("root", "temporary", "home", "user-namespaces")
# A file system whose server is gone blocks for ever; the others are still examined.
NODE_BUDGETS = {"root": 4, "temporary": 4, "home": 6, "user-namespaces": 4}
NODE_LIMIT = 20
MOUNT_OPTIONS = re.compile(r"(ro|rw|noexec|nolock|local_lock=\w+|sec=\w+|vers=[\d.]+)$")
# https://github.com/torvalds/linux/blob/master/include/uapi/linux/sched.h
CLONE_NEWUSER, CLONE_NEWNS = 0x10000000, 0x00020000
# State of a clock that no time server sets: https://man7.org/linux/man-pages/man2/adjtimex.2.html
TIME_ERROR, TIMEX_BYTES = 5, 256
SCHEDULERS = (("slurm", "sbatch", "SLURM_JOB_ID"), ("pbs", "qsub", "PBS_JOBID"), ("lsf", "bsub", "LSB_JOBID"))
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def error_name(error):
    """Return the name of an error of the system, such as EROFS."""
    return errno.errorcode.get(error.errno, text(error.errno))


def mount_of(path):
    """Return type and options of the file system of a path, as the kernel lists them; empty if unknown."""
    path, found = os.path.realpath(path), ("", "", [])
    for line in (content_of("/proc/self/mountinfo") or "").splitlines():
        fields, _, rest = line.partition(" - ")
        fields, rest = fields.split(" "), rest.split(" ")
        if len(fields) < 6 or len(rest) < 3:
            continue
        point = re.sub(r"\\(\d{3})", lambda code: chr(int(code.group(1), 8)), fields[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        # Of two on one point the last is on top.
        if inside and len(point) >= len(found[0]):
            found = (point, rest[0], fields[5].split(",") + rest[2].split(","))
    return {"type": found[1], "options": sorted(set(each for each in found[2] if MOUNT_OPTIONS.match(each)))}


def locked(handle):
    """Return the error of locking a file; empty if it can be locked."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (IOError, OSError) as error:
        return error_name(error)
    return ""


def written(path):
    """Return what happens when a file is made in a directory and locked; the file is removed."""
    seen = {"writable": False, "error": "", "locks": None, "lock_error": "", "owner": None}
    try:
        handle, name = tempfile.mkstemp(prefix=".envbuilder-", dir=path)
    except (IOError, OSError) as error:
        return dict(seen, error=error_name(error))
    try:
        failed = locked(handle)
        seen.update(writable=True, locks=not failed, lock_error=failed, owner=os.fstat(handle).st_uid)
    finally:
        os.close(handle)
        os.unlink(name)
    return seen


def read_only_root():
    """Return whether the root file system can be written to; nothing is written."""
    denied = "EROFS" if os.statvfs("/").f_flag & 1 else ""
    return {"writable": not denied, "error": denied, "locks": None, "lock_error": "", "owner": None}


def directory(role):
    """Return the state of one directory: its file system, and what this user can do in it."""
    path = {"root": "/", "home": os.path.expanduser("~"), "temporary": given_directory()}[role]
    seen = dict(mount_of(path), path=path, total=None, free=None)
    try:
        status = os.statvfs(path)
        seen.update(total=status.f_frsize * status.f_blocks, free=status.f_frsize * status.f_bavail)
    except OSError:
        pass
    return dict(seen, **(read_only_root() if role == "root" else written(path)))


def kernel_call(name, *arguments):
    """Return the error of a system call, such as EPERM; empty if it succeeded."""
    call = getattr(ctypes.CDLL(None, use_errno=True), name)
    if call(*arguments) >= 0:
        return ""
    number = ctypes.get_errno()
    return errno.errorcode.get(number, text(number))


def user_namespaces():
    """Return whether this user can make a user namespace and mount in it; this process stays inside of it."""
    denied = kernel_call("unshare", CLONE_NEWUSER)
    # AppArmor can allow the namespace and refuse every use: https://ubuntu.com/blog/ubuntu-23-10-restricted-unprivileged-user-namespaces
    refused = "" if denied else kernel_call("unshare", CLONE_NEWNS)
    limits = {}
    for key, path in (
        ("limit", "/proc/sys/user/max_user_namespaces"),
        ("unprivileged", "/proc/sys/kernel/unprivileged_userns_clone"),
        ("apparmor", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
    ):
        content = content_of(path) or ""
        limits[key] = int(content) if content.isdigit() else None
    return dict(limits, works=not denied and not refused, error=denied or refused)


def part_node(request, report, only):
    """Child: directories, which can block for ever, and user namespaces, which change the process."""
    for name in only:
        if name == "user-namespaces":
            report(name, user_namespaces)
        else:
            report(name, directory, name)


def node_facts(path):
    """Return directories and user namespaces, as facts."""
    seen = Steps("node", path, NODE_STEPS, NODE_BUDGETS, NODE_LIMIT).run()
    namespaces = seen.pop("user-namespaces")
    return {"directories": {"ok": True, "seconds": 0.0, "value": seen}, "user-namespaces": namespaces}


def has_default_route():
    """Return whether a route leads out of the networks of this machine; None if the kernel does not list routes."""
    four, six = content_of("/proc/net/route"), content_of("/proc/net/ipv6_route")
    if four is None and six is None:
        return None
    rows = [line.split() for line in (four or "").splitlines()[1:]]
    if any(len(row) > 7 and row[1] == "00000000" and row[7] == "00000000" for row in rows):
        return True
    rows = [line.split() for line in (six or "").splitlines()]
    # The kernel lists an unreachable default route through the loopback device.
    return any(len(row) > 9 and row[0] == "0" * 32 and row[1] == "00" and row[9] != "lo" for row in rows)


def network():
    """Return whether a route leads out, and whether a proxy is set; nothing is sent."""
    return {"route": has_default_route(), "proxy": any(os.environ.get(name) for name in PROXIES)}


def clock():
    """Return the time in seconds since 1970, and whether a time server sets the clock (None: unknown)."""
    state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(TIMEX_BYTES))
    return {"time": round(time.time(), 3), "synchronized": None if state < 0 else state != TIME_ERROR}


def scheduler():
    """Return the batch system whose commands are installed, and whether this process is part of one of its jobs."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    for name, command, variable in SCHEDULERS:
        installed = any(os.access(os.path.join(folder, command), os.X_OK) for folder in folders if folder)
        if installed or os.environ.get(variable):
            return {"name": name, "job": bool(os.environ.get(variable))}
    return {"name": "", "job": False}
