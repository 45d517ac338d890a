"""The interpreter, the machine, and the installed distributions."""

import ctypes
import glob
import locale
import os
import platform
import re
import sys

from envbuilder.incontainer.probe.values import content_of, first_line


def libc_version():
    """Return the version of the C library in use, such as 2.31; empty if it is not glibc."""
    try:
        ask = ctypes.CDLL(None).gnu_get_libc_version
    except AttributeError:
        return ""
    ask.restype = ctypes.c_char_p
    return ask()


def interpreter():
    """Return the interpreter and its settings."""
    return {
        "version": ".".join(str(part) for part in sys.version_info[:3]),
        "implementation": platform.python_implementation(),
        "executable": sys.executable,
        "prefix": sys.prefix,
        "base_prefix": getattr(sys, "base_prefix", sys.prefix),
        "glibc": libc_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "uid": os.getuid(),
        "ld_library_path": os.environ.get("LD_LIBRARY_PATH", ""),
        "encoding": locale.getpreferredencoding(),
        "locale": os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or "",
    }


def cpu():
    """Return the model name and the instruction sets relevant for TensorFlow wheels; None if unknown."""
    content = content_of("/proc/cpuinfo") or ""
    flags = re.search(r"^flags\s*:(.*)$", content, re.MULTILINE)
    model = re.search(r"^model name\s*:\s*(.*)$", content, re.MULTILINE)
    words = set(flags.group(1).split()) if flags else None
    known = {"model": model.group(1) if model else ""}
    for name in ("avx", "avx2", "fma", "avx512f"):
        known[name] = None if words is None else name in words
    return known


def memory():
    """Return bytes of memory: of the machine, and the limit of the control group (None: no limit)."""
    total = re.search(r"^MemTotal:\s*(\d+) kB", content_of("/proc/meminfo") or "", re.MULTILINE)
    limit = first_line("/sys/fs/cgroup/memory.max") or first_line("/sys/fs/cgroup/memory/memory.limit_in_bytes") or ""
    bound = int(limit) if limit.isdigit() and int(limit) < 1 << 60 else None
    return {"total": int(total.group(1)) * 1024 if total else None, "limit": bound}


def shared_memory():
    """Return the size in bytes of /dev/shm; None if it does not exist."""
    try:
        status = os.statvfs("/dev/shm")
    except OSError:
        return None
    return status.f_frsize * status.f_blocks


def machine():
    """Return the resources of the process."""
    return {"cpu": cpu(), "memory": memory(), "shm": shared_memory(), "kernel": platform.release()}


def distribution(path):
    """Return name (normalized) and version from the metadata of one installed distribution; None without them."""
    for name in ("METADATA", "PKG-INFO", ""):
        content = content_of(os.path.join(path, name) if name else path)
        if content:
            head = content.split("\n\n", 1)[0]
            found = dict(re.findall(r"^(Name|Version):[ \t]*(\S+)", head, re.MULTILINE))
            if len(found) == 2:
                return re.sub(r"[-_.]+", "-", found["Name"]).lower(), found["Version"]
    return None


def distributions():
    """Return normalized name to version of everything on sys.path; the first on the path wins, as for imports."""
    installed = {}
    for entry in sys.path:
        for pattern in ("*.dist-info", "*.egg-info"):
            for path in sorted(glob.glob(os.path.join(entry, pattern))):
                known = distribution(path)
                if known:
                    installed.setdefault(known[0], known[1])
    return installed
