"""The interpreter, the machine, and the distributions that are installed."""

import ctypes
import glob
import locale
import os
import platform
import re
import sys

from envbuilder.incontainer.probe.values import content_of, first_line


def libc_version():
    """Version of the C library in use, such as 2.31; empty when it is not glibc."""
    try:
        ask = ctypes.CDLL(None).gnu_get_libc_version
    except AttributeError:
        return ""
    ask.restype = ctypes.c_char_p
    return ask()


def interpreter():
    """The interpreter and what it was started with."""
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
    """Model name and the instruction sets that TensorFlow wheels care about; None where nothing tells."""
    content = content_of("/proc/cpuinfo") or ""
    flags = re.search(r"^flags\s*:(.*)$", content, re.MULTILINE)
    model = re.search(r"^model name\s*:\s*(.*)$", content, re.MULTILINE)
    words = set(flags.group(1).split()) if flags else None
    known = {"model": model.group(1) if model else ""}
    for name in ("avx", "avx2", "fma", "avx512f"):
        known[name] = None if words is None else name in words
    return known


def memory():
    """Bytes of memory: of the machine, and the limit of the control group (None: no limit)."""
    total = re.search(r"^MemTotal:\s*(\d+) kB", content_of("/proc/meminfo") or "", re.MULTILINE)
    limit = first_line("/sys/fs/cgroup/memory.max") or first_line("/sys/fs/cgroup/memory/memory.limit_in_bytes") or ""
    bound = int(limit) if limit.isdigit() and int(limit) < 1 << 60 else None
    return {"total": int(total.group(1)) * 1024 if total else None, "limit": bound}


def shared_memory():
    """Size in bytes of /dev/shm; None when it is not there."""
    try:
        status = os.statvfs("/dev/shm")
    except OSError:
        return None
    return status.f_frsize * status.f_blocks


def machine():
    """What the machine gives to the process."""
    return {"cpu": cpu(), "memory": memory(), "shm": shared_memory(), "kernel": platform.release()}


def distribution(path):
    """Name (normalized) and version from the metadata of one installed distribution; None without them."""
    for name in ("METADATA", "PKG-INFO", ""):
        content = content_of(os.path.join(path, name) if name else path)
        if content:
            head = content.split("\n\n", 1)[0]
            found = dict(re.findall(r"^(Name|Version):[ \t]*(\S+)", head, re.MULTILINE))
            if len(found) == 2:
                return re.sub(r"[-_.]+", "-", found["Name"]).lower(), found["Version"]
    return None


def distributions():
    """Normalized name to version of everything on sys.path; the first on the path wins, as for imports."""
    installed = {}
    for entry in sys.path:
        for pattern in ("*.dist-info", "*.egg-info"):
            for path in sorted(glob.glob(os.path.join(entry, pattern))):
                known = distribution(path)
                if known:
                    installed.setdefault(known[0], known[1])
    return installed
