"""The driver: kernel module, user-space library, devices, and stubs."""

import ctypes
import glob
import os
import re
import subprocess

from envbuilder.incontainer.probe.children import run_part
from envbuilder.incontainer.probe.libraries import loaded_path
from envbuilder.incontainer.probe.stand_ins import is_stand_in
from envbuilder.incontainer.probe.values import content_of, first_line, text, text_lines

DRIVER_LIMIT = 90


def cuda_error(cuda, code):
    """Return the name of a result of the driver interface, such as CUDA_ERROR_NO_DEVICE."""
    name = ctypes.c_char_p()
    try:
        cuda.cuGetErrorName(code, ctypes.byref(name))
    except AttributeError:
        return ""
    return text(name.value or b"")


def attribute(cuda, device, which):
    """Return one attribute of a device; None if the driver refuses."""
    value = ctypes.c_int(0)
    return value.value if cuda.cuDeviceGetAttribute(ctypes.byref(value), which, device) == 0 else None


def gpu_memory(cuda, device):
    """Return the bytes of memory of a device; None if the driver does not report them."""
    size = ctypes.c_size_t(0)
    ask = getattr(cuda, "cuDeviceTotalMem_v2", None) or cuda.cuDeviceTotalMem
    return size.value if ask(ctypes.byref(size), device) == 0 else None


def gpu(cuda, index):
    """Return one GPU as reported by the driver; no context is created and no memory allocated."""
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
    """Return True if a libcuda is the linker's stub: it is in a directory of that name, or is far too small.

    Source: stubs of CUDA 8 to 13 have 8 to 130 kB, drivers 304 to 580 have 7 MB and more.
    """
    if "/stubs/" in path:
        return True
    try:
        return os.path.getsize(path) < 1 << 20
    except OSError:
        return False


def driver_interface():
    """Return the facts of libcuda.so.1: versions, result of cuInit, devices."""
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
    seen["stand_in"] = is_stand_in(path)
    if code == 0:
        count = ctypes.c_int(0)
        if cuda.cuDeviceGetCount(ctypes.byref(count)) == 0:
            seen["gpus"] = [gpu(cuda, index) for index in range(count.value)]
    return seen


def driver_release():
    """Return the release number of the kernel module, from its file; None without a module."""
    content = content_of("/proc/driver/nvidia/version")
    found = re.search(r"Kernel Module(?: for \S+)?\s+(\d+\.\d+(?:\.\d+)?)", content or "")
    return {"text": content, "release": found.group(1) if found else first_line("/sys/module/nvidia/version")}


def part_driver(request, report, only):
    """Child: ask the driver."""
    report("interface", driver_interface)


def library_release(path):
    """Return the release number in the real name of libcuda, such as 535.104.05; None if it has none."""
    found = re.search(r"libcuda\.so\.(\d+\.\d+(?:\.\d+)?)$", path or "")
    return found.group(1) if found else None


def driver(path):
    """Return the driver: kernel module, user-space library, devices."""
    interface = run_part("driver", path, ["interface"], DRIVER_LIMIT)[0]["interface"]
    told = interface.get("value") or {}
    return {"module": driver_release(), "interface": interface, "library": library_release(told.get("path"))}


LOADER_CACHE = []


def loader_cache():
    """Return the lines of the loader's cache; read once, because about two dozen libraries are looked up."""
    for program in ("/sbin/ldconfig", "/usr/sbin/ldconfig", "ldconfig") if not LOADER_CACHE else ():
        try:
            child = subprocess.Popen([program, "-p"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except OSError:
            continue
        LOADER_CACHE.extend(text_lines(child.communicate()[0]))
        break
    return LOADER_CACHE


def cached_libraries(soname):
    """Return the paths that the loader's cache has for a library, in its order."""
    return [line.split("=> ", 1)[1].strip() for line in loader_cache() if line.startswith(soname + " ") and "=> " in line]


def loader():
    """Return every libcuda.so.1 that a program could load at run time, and stubs outside of the search path."""
    found = [("cache", path) for path in cached_libraries("libcuda.so.1")]
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        path = os.path.join(folder, "libcuda.so.1")
        if folder and os.path.exists(path):
            found.append(("LD_LIBRARY_PATH", path))
    return {
        "libcuda": [
            {
                "source": source,
                "path": path,
                "real": real,
                "stub": looks_like_stub(real),
                "stand_in": is_stand_in(real),
            }
            for source, path, real in [(source, path, os.path.realpath(path)) for source, path in found]
        ],
        "stubs": sorted(set(os.path.realpath(path) for path in glob.glob("/usr/local/cuda*/lib64/stubs/libcuda.so*"))),
    }
