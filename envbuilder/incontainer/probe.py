"""Look at one Python environment with TensorFlow and print what is there as one JSON document.

    python probe.py [--request FILE]

This file stands alone: standard library only, and syntax that CPython 2.7 and 3.5 to 3.13 all run, because it is put
unchanged into images of every age. It has no opinion: whether a fact is good or bad is decided elsewhere.

The request is JSON; every field may be left out:

    {"schema": 1, "sonames": [], "optional_sonames": [], "train": true, "gpu": false, "limit": 600}

The answer is {"schema": 1, "request": {...}, "seconds": S, "facts": {NAME: FACT}}, where a FACT is either
{"ok": true, "seconds": S, "value": ...} or {"ok": false, "seconds": S, "error": {"type", "message", "trace"}}.
A fact that nobody asked for is not there. Exit status 0 means "I could look", whatever was seen.

What can kill the process (foreign libraries, TensorFlow) runs in a child process that reports each fact as soon as it
has it, so a crash is a fact too (type "Signal"), loses nothing already seen, and never silences the rest.
"""

from __future__ import print_function

import argparse
import ctypes
import glob
import json
import locale
import math
import mmap
import numbers
import os
import platform
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback

SCHEMA = 1
CLIP = 4000
TRACE_LINES = 12
LIBRARIES_LIMIT = 180
DRIVER_LIMIT = 90
OWN_CHECK_LIMIT = 180
TENSORFLOW_LIMIT = 600
STEPS = 30

CLOCK = getattr(time, "monotonic", time.time)
TEXT = type(u"")


# --- values that fit into JSON ---------------------------------------------------------------------------------------


def text(value):
    """Any object as text without lone surrogates, at most CLIP characters (the end is kept)."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    elif not isinstance(value, TEXT):
        value = TEXT(value)
    value = value.encode("utf-8", "replace").decode("utf-8", "replace")
    return value if len(value) <= CLIP else u"... " + value[-CLIP:]


def plain(value):
    """The value with only what JSON knows; a number that is not finite becomes its name as text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, dict):
        return dict((text(key), plain(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return repr(value) if math.isinf(value) or math.isnan(value) else value
    if isinstance(value, numbers.Integral):
        return int(value)
    return text(value)


def failure(kind, message, trace=()):
    """The description of something that went wrong."""
    return {"type": text(kind), "message": text(message), "trace": [text(line) for line in trace][-TRACE_LINES:]}


def caught():
    """The exception that is being handled, as a description."""
    kind, error = sys.exc_info()[:2]
    lines = [line.rstrip() for line in traceback.format_exc().splitlines() if line.strip()]
    try:
        message = text(error)
    except Exception:
        message = "(no text)"
    return failure(kind.__name__, message, lines)


def look(function, *arguments):
    """Call a function; its value or its error becomes a fact."""
    started = CLOCK()
    try:
        fact = {"ok": True, "value": plain(function(*arguments))}
    except (Exception, SystemExit):
        fact = {"ok": False, "error": caught()}
    fact["seconds"] = round(CLOCK() - started, 3)
    return fact


def unseen(kind, message, seconds=0.0, trace=()):
    """A fact that could not be seen, without an exception of our own."""
    return {"ok": False, "seconds": round(seconds, 3), "error": failure(kind, message, trace)}


def first_line(path):
    """The first line of a small file; None when it cannot be read."""
    content = content_of(path)
    return content.splitlines()[0] if content else None


def content_of(path):
    """A small text file; None when it cannot be read."""
    try:
        with open(path, "rb") as handle:
            return handle.read(1 << 20).decode("utf-8", "replace").strip()
    except (IOError, OSError):
        return None


# --- interpreter, machine, distributions ------------------------------------------------------------------------------


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


# --- ELF files --------------------------------------------------------------------------------------------------------


class Elf(object):
    """The little of a 64-bit little-endian ELF file that is needed here: dynamic symbols and search path."""

    DYNAMIC, DYNSYM = 6, 11
    RPATH, RUNPATH = 15, 29

    def __init__(self, path):
        self.folder = os.path.dirname(os.path.abspath(path))
        with open(path, "rb") as handle:
            self.data = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF file")
        offset, = struct.unpack("<Q", self.data[40:48])
        size, count = struct.unpack("<HH", self.data[58:62])
        rows = [self.data[offset + size * index : offset + size * (index + 1)] for index in range(count)]
        self.sections = [struct.unpack("<IIQQQQIIQQ", row[:64]) for row in rows]

    def _bytes(self, section):
        return self.data[section[4] : section[4] + section[5]]

    def _tables(self, kind):
        """Content of each section of a kind, with the content of its string table."""
        return [
            (self._bytes(section), self._bytes(self.sections[section[6]]))
            for section in self.sections
            if section[1] == kind
        ]

    def defined(self, part):
        """Names of defined dynamic symbols that contain the given bytes, sorted."""
        names = set()
        for symbols, strings in self._tables(self.DYNSYM):
            places = {}
            found = strings.find(part)
            while found >= 0:
                start = strings.rfind(b"\0", 0, found) + 1
                end = strings.find(b"\0", found)
                places[start] = strings[start:end]
                found = strings.find(part, end)
            for start, name in places.items():
                if self._is_defined(symbols, struct.pack("<I", start)):
                    names.add(name.decode("ascii", "replace"))
        return sorted(names)

    @staticmethod
    def _is_defined(symbols, wanted):
        at = symbols.find(wanted)
        while at >= 0:
            if at % 24 == 0:
                return struct.unpack("<H", symbols[at + 6 : at + 8])[0] != 0
            at = symbols.find(wanted, at + 1)
        return False

    def search_path(self):
        """Folders of RPATH and RUNPATH in order, with $ORIGIN replaced."""
        folders = []
        for entries, strings in self._tables(self.DYNAMIC):
            for at in range(0, len(entries) - 15, 16):
                tag, value = struct.unpack("<QQ", entries[at : at + 16])
                if tag in (self.RPATH, self.RUNPATH):
                    joined = strings[value : strings.find(b"\0", value)].decode("utf-8", "replace")
                    folders += [os.path.normpath(self._origin(folder)) for folder in joined.split(":") if folder]
        return folders

    def _origin(self, folder):
        return folder.replace("${ORIGIN}", self.folder).replace("$ORIGIN", self.folder)


def tensorflow_libraries():
    """Shared objects of the installed TensorFlow, found without importing it, in the order in which it loads them."""
    names = (
        "libtensorflow_framework.so.2",
        "libtensorflow_framework.so.1",
        "libtensorflow_framework.so",
        "libtensorflow_cc.so.2",
        os.path.join("python", "_pywrap_tensorflow_internal.so"),
    )
    for entry in sys.path:
        for package in ("tensorflow", "tensorflow_core"):
            folder = os.path.join(entry, package)
            found = [os.path.join(folder, name) for name in names if os.path.isfile(os.path.join(folder, name))]
            if found:
                return found
    return []


# --- CUDA libraries ---------------------------------------------------------------------------------------------------


def dotted(number, major, minor):
    """A packed version number: 8900 by 1000 and 100 is 8.9.0."""
    return "{0}.{1}.{2}".format(number // major, number % major // minor, number % minor)


def property_version(library, function):
    """Version from a CUDA library that answers for major, minor and patch one by one."""
    ask = getattr(library, function)
    parts = []
    for which in range(3):
        value = ctypes.c_int(-1)
        if ask(which, ctypes.byref(value)) != 0:
            return None
        parts.append(str(value.value))
    return ".".join(parts)


def runtime_version(library):
    """Version of the CUDA runtime, such as 11.8."""
    value = ctypes.c_int(-1)
    if library.cudaRuntimeGetVersion(ctypes.byref(value)) != 0:
        return None
    return "{0}.{1}".format(value.value // 1000, value.value % 1000 // 10)


def cudnn_version(library):
    """Version of cuDNN: major*1000 up to 8.x, major*10000 from 9 on."""
    library.cudnnGetVersion.restype = ctypes.c_size_t
    number = library.cudnnGetVersion()
    return dotted(number, 1000 if number < 10000 else 10000, 100)


def nccl_version(library):
    """Version of NCCL: major*1000 up to 2.8, major*10000 from 2.9 on."""
    value = ctypes.c_int(-1)
    if library.ncclGetVersion(ctypes.byref(value)) != 0:
        return None
    return dotted(value.value, 1000 if value.value < 10000 else 10000, 100)


def library_version(soname, library):
    """What the library says of itself; None when it has no function for it or the function fails."""
    stem = soname.split(".so")[0]
    special = {"libcudart": runtime_version, "libcudnn": cudnn_version, "libnccl": nccl_version}
    try:
        if stem in special:
            return special[stem](library)
        return property_version(library, stem[3:] + "GetProperty")
    except AttributeError:
        return None


def cudnn_runtime(soname, library):
    """CUDA runtime that a cuDNN was built with, such as 11.8; None for another library."""
    if soname.split(".so")[0] != "libcudnn":
        return None
    try:
        library.cudnnGetCudartVersion.restype = ctypes.c_size_t
        number = library.cudnnGetCudartVersion()
    except AttributeError:
        return None
    return "{0}.{1}".format(number // 1000, number % 1000 // 10)


class LinkMap(ctypes.Structure):
    """The head of glibc's struct link_map."""

    _fields_ = [("address", ctypes.c_void_p), ("name", ctypes.c_char_p)]


def loaded_path(library):
    """Real path of a loaded library, as the loader itself knows it; empty when it does not tell."""
    for name in (None, "libdl.so.2"):
        try:
            ask = ctypes.CDLL(name).dlinfo
        except (AttributeError, OSError):
            continue
        ask.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
        head = ctypes.POINTER(LinkMap)()
        if ask(library._handle, 2, ctypes.byref(head)) == 0:
            return os.path.realpath(text(head.contents.name or b"")) if head.contents.name else ""
    return ""


def where(soname, folders):
    """What to hand to dlopen, and why: TensorFlow looks in LD_LIBRARY_PATH, then its RUNPATH, then the loader's cache."""
    own = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    if any(os.path.exists(os.path.join(folder, soname)) for folder in own):
        return soname, "LD_LIBRARY_PATH"
    for folder in folders:
        if os.path.exists(os.path.join(folder, soname)):
            return os.path.join(folder, soname), "RUNPATH"
    return soname, "loader"


def library_facts(soname, folders):
    """Load one library and let it tell its version."""
    target, via = where(soname, folders)
    try:
        library = ctypes.CDLL(target)
    except OSError as error:
        return {"loaded": False, "error": text(error), "path": "", "via": via, "version": None, "cudart": None}
    return {
        "loaded": True,
        "error": "",
        "path": loaded_path(library),
        "via": via,
        "version": library_version(soname, library),
        "cudart": cudnn_runtime(soname, library),
    }


def own_search_path():
    """Folders in which the installed TensorFlow looks by itself; empty without TensorFlow."""
    folders = []
    for path in tensorflow_libraries():
        try:
            folders += [folder for folder in Elf(path).search_path() if folder not in folders]
        except (ValueError, IOError, OSError, struct.error):
            continue
    return folders


def part_libraries(request, report, only):
    """Child: load libraries one after the other."""
    folders = own_search_path()
    for soname in only:
        report(soname, library_facts, soname, folders)


def libraries(request, path):
    """Load every library asked for: all in one child, and one child each for what a crash has left open."""
    wanted = sorted(set(request["sonames"]) | set(request["optional_sonames"]))
    if not wanted:
        return {}
    seen, ended = run_part("libraries", path, LIBRARIES_LIMIT, wanted)
    if ended:
        for soname in [name for name in wanted if name not in seen]:
            alone, ended = run_part("libraries", path, LIBRARIES_LIMIT, [soname])
            seen[soname] = alone.get(soname) or ended
    return dict((soname, seen[soname]) for soname in wanted)


# --- driver -----------------------------------------------------------------------------------------------------------


def cuda_error(cuda, code):
    """Name of a result of the driver interface, such as CUDA_ERROR_NO_DEVICE."""
    name = ctypes.c_char_p()
    try:
        cuda.cuGetErrorName(code, ctypes.byref(name))
    except AttributeError:
        return ""
    return text(name.value or b"")


def attribute(cuda, device, which):
    """One attribute of a device; None when the driver refuses."""
    value = ctypes.c_int(0)
    return value.value if cuda.cuDeviceGetAttribute(ctypes.byref(value), which, device) == 0 else None


def gpu_memory(cuda, device):
    """Bytes of memory of a device; None when the driver does not tell."""
    size = ctypes.c_size_t(0)
    ask = getattr(cuda, "cuDeviceTotalMem_v2", None) or cuda.cuDeviceTotalMem
    return size.value if ask(ctypes.byref(size), device) == 0 else None


def gpu(cuda, index):
    """One GPU as the driver knows it; no context is made and no memory taken."""
    device = ctypes.c_int(0)
    code = cuda.cuDeviceGet(ctypes.byref(device), index)
    if code != 0:
        return {"index": index, "error": "cuDeviceGet: {0} {1}".format(code, cuda_error(cuda, code))}
    name = ctypes.create_string_buffer(256)
    cuda.cuDeviceGetName(name, 256, device)
    major, minor = attribute(cuda, device, 75), attribute(cuda, device, 76)
    return {
        "index": index,
        "error": "",
        "name": name.value,
        "capability": None if major is None else "{0}.{1}".format(major, minor),
        "memory": gpu_memory(cuda, device),
    }


def looks_like_stub(path):
    """Whether a libcuda is the linker's stub: it lies in a folder of that name, or is far too small.

    Source: stubs of CUDA 8 to 13 have 8 to 130 kB, drivers 304 to 580 have 7 MB and more.
    """
    if "/stubs/" in path:
        return True
    try:
        return os.path.getsize(path) < 1 << 20
    except OSError:
        return False


def driver_interface():
    """What libcuda.so.1 says: versions, result of cuInit, devices."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return {"loadable": False, "error": text(error)}
    path = loaded_path(cuda)
    seen = {"loadable": True, "error": "", "path": path, "cuda": None, "gpus": []}
    version = ctypes.c_int(0)
    if cuda.cuDriverGetVersion(ctypes.byref(version)) == 0:
        seen["cuda"] = "{0}.{1}".format(version.value // 1000, version.value % 1000 // 10)
    code = cuda.cuInit(0)
    seen["init"] = {"code": code, "name": cuda_error(cuda, code)}
    # 34 is CUDA_ERROR_STUB_LIBRARY, known to stubs from CUDA 11.1 on.
    seen["stub"] = looks_like_stub(path) or code == 34
    if code == 0:
        count = ctypes.c_int(0)
        if cuda.cuDeviceGetCount(ctypes.byref(count)) == 0:
            seen["gpus"] = [gpu(cuda, index) for index in range(count.value)]
    return seen


def driver_release():
    """Release number of the kernel module, from the file that it offers; None without a module."""
    content = content_of("/proc/driver/nvidia/version")
    found = re.search(r"Kernel Module(?: for \S+)?\s+(\d+\.\d+(?:\.\d+)?)", content or "")
    return {"text": content, "release": found.group(1) if found else first_line("/sys/module/nvidia/version")}


def part_driver(request, report, only):
    """Child: ask the driver."""
    report("interface", driver_interface)


def library_release(path):
    """Release number in the real name of libcuda, such as 535.104.05; None when it has none."""
    found = re.search(r"libcuda\.so\.(\d+\.\d+(?:\.\d+)?)$", path or "")
    return found.group(1) if found else None


def driver(path):
    """The driver: kernel module, user-space library, devices."""
    seen, ended = run_part("driver", path, DRIVER_LIMIT)
    interface = seen.get("interface") or ended
    told = interface.get("value") or {}
    return {"module": driver_release(), "interface": interface, "library": library_release(told.get("path"))}


def cached_libraries(soname):
    """Paths that the loader's cache has for a library, in its order."""
    for program in ("/sbin/ldconfig", "/usr/sbin/ldconfig", "ldconfig"):
        try:
            child = subprocess.Popen([program, "-p"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except OSError:
            continue
        listing = text_lines(child.communicate()[0])
        return [line.split("=> ", 1)[1].strip() for line in listing if line.split(" ")[0] == soname and "=> " in line]
    return []


def text_lines(data):
    """Lines of any length of a program's output, stripped."""
    return [line.strip() for line in data.decode("utf-8", "replace").splitlines()]


def loader():
    """Every libcuda.so.1 that a program could get at run time, and stubs that lie about beside the path."""
    found = [("cache", path) for path in cached_libraries("libcuda.so.1")]
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        path = os.path.join(folder, "libcuda.so.1")
        if folder and os.path.exists(path):
            found.append(("LD_LIBRARY_PATH", path))
    return {
        "libcuda": [
            {"source": source, "path": path, "real": real, "stub": looks_like_stub(real)}
            for source, path, real in [(source, path, os.path.realpath(path)) for source, path in found]
        ],
        "stubs": sorted(set(os.path.realpath(path) for path in glob.glob("/usr/local/cuda*/lib64/stubs/libcuda.so*"))),
    }


# --- TensorFlow: its own look at the CUDA libraries -------------------------------------------------------------------


NO_OWN_CHECK = {"available": False, "ok": None, "raw": None, "symbol": "", "library": "", "missing": []}


def part_own_check(request, report, only):
    """Child: call TensorFlow's own check of the CUDA libraries."""
    report("own-check", own_check)


def own_check():
    """Call `DsoLoader::TryDlopenCUDALibraries()`, which TensorFlow asks before it registers GPUs.

    The function gives an absl::Status (earlier tensorflow::Status) by value. Both are one pointer wide with a
    destructor, so the caller hands a buffer over as hidden first argument. OK is 0 in tensorflow::Status and in older
    absl, 1 (inlined code 0) in newer absl; an error is a heap pointer or an inlined code other than 0.
    """
    for path in tensorflow_libraries():
        names = [name for name in Elf(path).defined(b"TryDlopenCUDALibraries") if name.startswith("_Z")]
        if names:
            return call_own_check(path, names[0])
    return dict(NO_OWN_CHECK)


def call_own_check(path, symbol):
    """Call the check by its mangled name."""
    function = getattr(ctypes.CDLL(path), symbol)
    function.restype = None
    buffer = (ctypes.c_uint64 * 4)(0, 0, 0, 0)
    function(ctypes.byref(buffer))
    return {
        "available": True,
        "ok": buffer[0] in (0, 1),
        "raw": buffer[0],
        "symbol": symbol,
        "library": os.path.basename(path),
    }


def own_check_fact(path):
    """The own check, with the libraries that TensorFlow named in its log as missing."""
    if not tensorflow_libraries():
        return look(dict, NO_OWN_CHECK)
    seen, ended = run_part("own-check", path, OWN_CHECK_LIMIT)
    fact = seen.get("own-check") or ended
    if fact["ok"]:
        named = [re.search(r"(lib[\w.+-]+\.so[\w.]*): cannot open shared object", line) for line in seen["log"]]
        fact["value"]["missing"] = sorted(set(match.group(1) for match in named if match))
    return fact


# --- TensorFlow: import, devices, training, saving, GPU ---------------------------------------------------------------


def imported():
    """Import TensorFlow and say what was imported."""
    import tensorflow as tf

    import numpy

    return {
        "version": getattr(tf, "__version__", None) or tf.VERSION,
        "git_version": git_version(tf),
        "numpy": numpy.__version__,
        "path": os.path.dirname(tf.__file__ or ""),
    }


def git_version(tf):
    """Commit that the wheel was built from; empty when it does not tell."""
    for name in ("__git_version__", "GIT_VERSION"):
        if hasattr(tf, name):
            return getattr(tf, name)
    version = getattr(tf, "version", None)
    return getattr(version, "GIT_VERSION", "")


def is_first(tf):
    """Whether this is TensorFlow 1.x."""
    return tf.__version__.startswith("1.")


def build_info(tf):
    """What the wheel says of its build: 2.3 and later by a function, before that by a module, if at all."""
    if hasattr(getattr(tf, "sysconfig", None), "get_build_info"):
        return dict(tf.sysconfig.get_build_info())
    try:
        from tensorflow.python.platform import build_info as module
    except ImportError:
        return {}
    known = dict((name, getattr(module, name)) for name in dir(module) if not name.startswith("_"))
    return dict((name, value) for name, value in known.items() if isinstance(value, (bool, str, int)))


def build():
    """How the wheel was built."""
    import tensorflow as tf

    return {"cuda": bool(tf.test.is_built_with_cuda()), "info": build_info(tf)}


def session_config(tf):
    """A session that takes GPU memory as it needs it and refuses to move work to another device."""
    config = tf.ConfigProto(allow_soft_placement=False)
    config.gpu_options.allow_growth = True
    return config


def devices():
    """Devices that TensorFlow sees, each with name, type and description, in its order."""
    import tensorflow as tf

    if is_first(tf):
        from tensorflow.python.client import device_lib

        try:
            listed = device_lib.list_local_devices(session_config(tf))
        except TypeError:
            # Up to 1.7 the function takes no configuration.
            listed = device_lib.list_local_devices()
        return [
            {"name": item.name, "type": item.device_type, "description": item.physical_device_desc} for item in listed
        ]
    listing = getattr(tf.config, "list_physical_devices", None) or tf.config.experimental.list_physical_devices
    return [{"name": item.name, "type": item.device_type, "description": details(tf, item)} for item in listing()]


def details(tf, device):
    """Name and compute capability of a GPU, where TensorFlow has a function for it (2.4 and later)."""
    ask = getattr(tf.config.experimental, "get_device_details", None)
    if ask is None or device.device_type != "GPU":
        return ""
    known = ask(device)
    capability = ".".join(str(part) for part in known.get("compute_capability") or ())
    return "{0}, compute capability {1}".format(known.get("device_name", ""), capability)


def data():
    """A small fixed problem: 64 points with 4 inputs on a plane."""
    import numpy

    inputs = (numpy.arange(256) * 37 % 101).reshape(64, 4).astype("float32") / 101
    outputs = inputs.dot(numpy.array([[1.0], [-2.0], [0.5], [3.0]], dtype="float32")) + 0.25
    return inputs, outputs.astype("float32")


def training(keep):
    """Train on fixed data with a fixed seed; the losses of the first and the last step."""
    import tensorflow as tf

    return train_first(tf) if is_first(tf) else train_second(tf, keep)


def losses(values, how, device):
    """The course of a training."""
    first, last = float(values[0]), float(values[-1])
    return {"how": how, "steps": len(values), "first": first, "last": last, "fell": last < first, "device": device}


def train_first(tf):
    """TensorFlow 1.x: a session and gradient descent."""
    inputs, outputs = data()
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        loss, step = linear_model(tf, inputs, outputs)[1:]
        with tf.Session(config=session_config(tf)) as session:
            session.run(tf.global_variables_initializer())
            values = []
            for _ in range(STEPS):
                values.append(session.run([loss, step])[0])
            names = [device.name for device in session.list_devices()] if hasattr(session, "list_devices") else []
    return losses(values, "session", ", ".join(names))


def linear_model(tf, inputs, outputs):
    """Output, loss and training step of a linear model on constants."""
    weights = tf.Variable(tf.random_normal([4, 1], seed=7), name="weights")
    bias = tf.Variable(tf.zeros([1]), name="bias")
    output = tf.matmul(tf.constant(inputs), weights) + bias
    loss = tf.reduce_mean(tf.square(output - outputs))
    return output, loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss)


def keras_model(tf):
    """A small network of two dense layers."""
    layers = tf.keras.layers
    first = layers.Dense(8, activation="relu", input_shape=(4,))
    return tf.keras.models.Sequential([first, layers.Dense(1)])


def seed_everything(tf):
    """Fix every seed that TensorFlow 2.x and Keras draw from."""
    import numpy

    numpy.random.seed(7)
    tf.random.set_seed(7)
    # Keras 3 (TensorFlow 2.16 and later) has a generator of its own.
    seed = getattr(getattr(tf.keras, "utils", None), "set_random_seed", None)
    if seed is not None:
        seed(7)


def device_of(variable):
    """Device of a Keras variable; Keras 3 wraps the variable of TensorFlow."""
    if not hasattr(variable, "device"):
        variable = variable.value
    return variable.device or ""


def train_second(tf, keep):
    """TensorFlow 2.x: Keras fit, one full batch per epoch; the model is kept for saving."""
    inputs, outputs = data()
    seed_everything(tf)
    model = keras_model(tf)
    model.compile(optimizer=tf.keras.optimizers.SGD(0.05), loss="mse")
    course = model.fit(inputs, outputs, epochs=STEPS, batch_size=len(inputs), shuffle=False, verbose=0)
    keep["model"] = model
    return losses(course.history["loss"], "keras", device_of(model.weights[0]))


def saving(keep):
    """Save what was trained, load it back, and compare the outputs."""
    import tensorflow as tf

    folder = tempfile.mkdtemp(prefix="envbuilder-")
    try:
        if is_first(tf):
            return [save_checkpoint(tf, folder)] + save_keras_first(tf, folder)
        if "model" not in keep:
            raise RuntimeError("there is no trained model to save")
        return [save_keras(tf, keep["model"], folder, suffix_of(tf))]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def compared(form, before, after):
    """Whether the outputs before saving and after loading are the same numbers."""
    import numpy

    difference = float(numpy.abs(numpy.asarray(before) - numpy.asarray(after)).max())
    return {"format": form, "difference": difference, "equal": difference == 0.0}


def suffix_of(tf):
    """The format that this release is meant to be used with."""
    version = [int(part) for part in tf.__version__.split(".")[:2]]
    return "keras" if version >= [2, 12] else "h5"


def save_keras(tf, model, folder, suffix):
    """Round trip of a Keras model through one file."""
    inputs = data()[0]
    path = os.path.join(folder, "model." + suffix)
    before = model.predict(inputs, verbose=0)
    model.save(path)
    return compared(suffix, before, tf.keras.models.load_model(path).predict(inputs, verbose=0))


def save_keras_first(tf, folder):
    """Round trip of Keras in TensorFlow 1.x through HDF5; nothing where Keras or h5py is not installed."""
    try:
        import h5py  # noqa: F401
    except ImportError:
        return []
    if not hasattr(tf, "keras"):
        return []
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        with tf.Session(config=session_config(tf)) as session:
            tf.keras.backend.set_session(session)
            model = keras_model(tf)
            model.compile(optimizer="sgd", loss="mse")
            inputs, outputs = data()
            model.fit(inputs, outputs, epochs=2, batch_size=len(inputs), shuffle=False, verbose=0)
            return [save_keras(tf, model, folder, "h5")]


def save_checkpoint(tf, folder):
    """Round trip of the variables of TensorFlow 1.x through a checkpoint, into a session of its own."""
    inputs, outputs = data()
    with tf.Graph().as_default():
        tf.set_random_seed(7)
        output, _, step = linear_model(tf, inputs, outputs)
        saver = tf.train.Saver()
        with tf.Session(config=session_config(tf)) as session:
            session.run(tf.global_variables_initializer())
            session.run(step)
            before = session.run(output)
            path = saver.save(session, os.path.join(folder, "model"))
        with tf.Session(config=session_config(tf)) as session:
            saver.restore(session, path)
            return compared("checkpoint", before, session.run(output))


def on_gpu():
    """Multiply and convolve on every GPU that TensorFlow sees; an empty list when it sees none."""
    import tensorflow as tf

    names = [item["name"] for item in devices() if item["type"] == "GPU"]
    if not is_first(tf) and names:
        tf.config.set_soft_device_placement(False)
    return {"gpus": [compute_on(tf, "/GPU:{0}".format(index)) for index in range(len(names))]}


def compute_on(tf, device):
    """Matrix product and convolution on one device.

    Numbers are given only for a result that was placed on the device asked for.
    """
    return {
        "asked": device,
        "matmul": look(placed_result, tf, device, product, product_by_hand()),
        "convolution": look(placed_result, tf, device, convolution, convolution_by_hand()),
    }


def operands():
    """Two fixed 64x64 matrices of small whole numbers; their product is exact in float32 and in TF32."""
    import numpy

    left = (numpy.arange(4096) * 7 % 11 - 5).reshape(64, 64).astype("float32")
    right = (numpy.arange(4096) * 5 % 13 - 6).reshape(64, 64).astype("float32")
    return left, right


def product(tf):
    """Matrix product."""
    left, right = operands()
    return tf.matmul(tf.constant(left), tf.constant(right), name="result")


def product_by_hand():
    """The same by numpy."""
    left, right = operands()
    return left.dot(right)


def convolution(tf):
    """Convolution of one 64x64 picture with a 3x3 window of ones; this is what makes TensorFlow load cuDNN."""
    import numpy

    picture = tf.constant(operands()[0].reshape(1, 64, 64, 1))
    window = tf.constant(numpy.ones((3, 3, 1, 1), dtype="float32"))
    return tf.nn.conv2d(picture, window, strides=[1, 1, 1, 1], padding="VALID", name="result")


def convolution_by_hand():
    """The same by numpy."""
    picture = operands()[0]
    total = sum(picture[row : row + 62, column : column + 62] for row in range(3) for column in range(3))
    return total.reshape(1, 62, 62, 1)


def same_device(asked, placed):
    """Whether /GPU:0 is the device that TensorFlow calls /job:localhost/replica:0/task:0/device:GPU:0."""
    return re.search(r"(^|[:/])" + re.escape(asked.strip("/")) + "$", placed, re.IGNORECASE) is not None


def placed_result(tf, device, operation, expected):
    """Run an operation on a device: where it really ran, and only if that is the device, how its numbers compare."""
    import numpy

    run = run_first if is_first(tf) else run_second
    placed, result = run(tf, device, operation)
    seen = {"placed": placed, "on_device": same_device(device, placed), "difference": None}
    if seen["on_device"]:
        seen["difference"] = float(numpy.abs(numpy.asarray(result) - expected).max())
    return seen


def run_second(tf, device, operation):
    """TensorFlow 2.x: eagerly, so that the result knows its device."""
    with tf.device(device):
        result = operation(tf)
    return result.device, result.numpy()


def run_first(tf, device, operation):
    """TensorFlow 1.x: in a session that tells the graph as it was placed."""
    with tf.Graph().as_default():
        with tf.device(device):
            result = operation(tf)
        options, told = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()
        # Without this the optimizer folds an operation on constants away, on the CPU.
        config = session_config(tf)
        config.graph_options.optimizer_options.opt_level = -1
        with tf.Session(config=config) as session:
            value = session.run(result, options=options, run_metadata=told)
    nodes = [node for graph in told.partition_graphs for node in graph.node if node.name == result.op.name]
    return (nodes[0].device if nodes else ""), value


def part_tensorflow(request, report, only):
    """Child: everything that needs TensorFlow in the process; imported once."""
    keep = {}
    if not report("import", imported):
        return
    report("build", build)
    report("devices", devices)
    if request["train"]:
        report("training", training, keep)
        report("saving", saving, keep)
    if request["gpu"]:
        report("gpu", on_gpu)


def tensorflow_names(request):
    """Facts that the TensorFlow child is to give, in its order."""
    names = ["import", "build", "devices"]
    names += ["training", "saving"] if request["train"] else []
    return names + (["gpu"] if request["gpu"] else [])


def tensorflow(request, path):
    """All facts of the TensorFlow child; those that it did not reach say why."""
    seen, ended = run_part("tensorflow", path, request["limit"])
    missing = ended or unseen("NotReached", "TensorFlow did not import")
    facts = {}
    for name in tensorflow_names(request):
        facts["tensorflow-" + name] = seen.get(name) or missing
        if name not in seen and ended:
            missing = unseen("NotReached", "the process had ended before: " + ended["error"]["message"])
    facts["tensorflow-log"] = {"ok": True, "seconds": 0.0, "value": telling(seen["log"])}
    return facts


def telling(log):
    """Warnings and errors about libraries and GPUs among the lines that TensorFlow wrote, at most the last 20."""
    marks = re.compile(r"[:\s][WEF]\d* .*(cuda|cudnn|cublas|gpu|GPU|CUDA|dynamic library)", re.IGNORECASE)
    return [text(line) for line in log if marks.search(line)][-20:]


# --- children ---------------------------------------------------------------------------------------------------------

PARTS = {
    "libraries": part_libraries,
    "driver": part_driver,
    "own-check": part_own_check,
    "tensorflow": part_tensorflow,
}


def run_part(part, path, limit, only=()):
    """Run one part of this file in a process of its own.

    Returns the facts that it gave by name (and under "log" the last lines that it wrote elsewhere), and None; or, when
    it did not end by itself with status 0, the unseen fact that says how it ended.
    """
    command = [sys.executable] + (["-X", "faulthandler"] if sys.version_info >= (3, 3) else [])
    command += [os.path.abspath(__file__), "--part", part]
    command += ["--request", path] if path else []
    command += ["--only", ",".join(only)] if only else []
    environment = dict(os.environ, TF_FORCE_GPU_ALLOW_GROWTH="true", TF_CPP_VMODULE="dso_loader=1,cuda_gpu_check=1")
    environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "0")
    # A child that crashes or skips its clean-up leaves files behind (AutoGraph does); they go with this folder.
    environment["TMPDIR"] = tempfile.mkdtemp(prefix="envbuilder-")
    try:
        return watched(command, environment, limit)
    finally:
        shutil.rmtree(environment["TMPDIR"], ignore_errors=True)


def watched(command, environment, limit):
    """Run a child to its end; what it gave, and how it ended."""
    started = CLOCK()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as log:
        child = subprocess.Popen(command, stdout=output, stderr=log, env=environment, preexec_fn=os.setsid)
        in_time = wait(child, limit)
        output.seek(0)
        log.seek(0)
        seen = gathered(output.read())
        seen["log"] = [line for line in text_lines(log.read()) if line]
    return seen, how_it_ended(child.returncode, in_time, limit, CLOCK() - started, seen["log"])


def wait(child, limit):
    """Wait for a process group, and kill it when its time is up; whether it ended in time."""
    deadline = CLOCK() + limit
    while child.poll() is None:
        if CLOCK() > deadline:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            return False
        time.sleep(0.02)
    return True


def gathered(data):
    """Facts by name from the lines that a child wrote; a line cut off by a crash is left out."""
    seen = {}
    for line in text_lines(data):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        seen[record["name"]] = record["fact"]
    return seen


def how_it_ended(status, in_time, limit, seconds, log):
    """The unseen fact for a child that did not end well; None for one that did."""
    if not in_time:
        return unseen("Timeout", "no answer after {0} s".format(limit), seconds, log)
    if status < 0:
        return unseen("Signal", signal_name(-status), seconds, innermost(log))
    if status > 0:
        return unseen("Exit", "the process ended with status {0}".format(status), seconds, log)
    return None


def innermost(log):
    """The lines around the place of a crash: faulthandler writes the innermost call first."""
    for index, line in enumerate(log):
        if line.startswith("Fatal Python error"):
            return log[index : index + TRACE_LINES]
    return log


def signal_name(number):
    """Name of a signal, such as SIGSEGV."""
    names = [name for name in dir(signal) if re.match(r"SIG[A-Z]+$", name) and getattr(signal, name) == number]
    return sorted(names)[0] if names else "signal {0}".format(number)


# --- the whole --------------------------------------------------------------------------------------------------------


def read_request(path):
    """The request with all fields; a field of the wrong type is an error of the caller."""
    asked = {}
    if path:
        with open(path, "rb") as handle:
            asked = json.loads(handle.read().decode("utf-8"))
    if not isinstance(asked, dict) or asked.get("schema", SCHEMA) != SCHEMA:
        raise ValueError("this is not a request of schema {0}".format(SCHEMA))
    return {
        "schema": SCHEMA,
        "sonames": [text(name) for name in asked.get("sonames", [])],
        "optional_sonames": [text(name) for name in asked.get("optional_sonames", [])],
        "train": bool(asked.get("train", True)),
        "gpu": bool(asked.get("gpu", False)),
        "limit": float(asked.get("limit", TENSORFLOW_LIMIT)),
    }


def everything(request, path):
    """All facts by name."""
    facts = {
        "interpreter": look(interpreter),
        "machine": look(machine),
        "distributions": look(distributions),
        "libraries": look(libraries, request, path),
        "driver": look(driver, path),
        "loader": look(loader),
        "tensorflow-own-check": look(own_check_fact, path),
    }
    own = facts["tensorflow-own-check"]
    facts["tensorflow-own-check"] = own["value"] if own["ok"] else own
    together = look(tensorflow, request, path)
    names = ["tensorflow-" + name for name in tensorflow_names(request)]
    facts.update(together["value"] if together["ok"] else dict((name, together) for name in names))
    return facts


def private_stdout():
    """A descriptor to the real standard output; from here on whatever is printed goes to standard error."""
    sys.stdout.flush()
    private = os.dup(1)
    os.dup2(2, 1)
    return private


def write(descriptor, document):
    """Write one JSON document and a line end, all of it."""
    data = (json.dumps(document, sort_keys=True, allow_nan=False) + "\n").encode("ascii")
    while data:
        data = data[os.write(descriptor, data) :]


def main():
    """Read the command line, look, and write."""
    parser = argparse.ArgumentParser(description="Print what is in this Python environment as JSON.")
    parser.add_argument("--request", metavar="FILE", default="", help="what to look at, as JSON")
    parser.add_argument("--part", choices=sorted(PARTS), help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    # The folder of this file is no part of the environment: nothing in /tmp may shadow a module.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != os.path.dirname(os.path.abspath(__file__))]
    request = read_request(options.request)
    output = private_stdout()
    if options.part:

        def report(name, function, *arguments):
            fact = look(function, *arguments)
            write(output, {"name": name, "fact": fact})
            return fact["ok"]

        PARTS[options.part](request, report, [name for name in options.only.split(",") if name])
        # Some releases of TensorFlow crash while the interpreter is taken down; all facts are out by now.
        sys.stderr.flush()
        os._exit(0)
    started = CLOCK()
    facts = everything(request, options.request)
    write(output, {"schema": SCHEMA, "request": request, "seconds": round(CLOCK() - started, 3), "facts": facts})


if __name__ == "__main__":
    main()
