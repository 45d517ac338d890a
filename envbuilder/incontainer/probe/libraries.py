"""CUDA libraries: load results, paths and versions."""

import ctypes
import os
import struct

from envbuilder.incontainer.probe.children import run_part
from envbuilder.incontainer.probe.elf import Elf, tensorflow_libraries
from envbuilder.incontainer.probe.stand_ins import is_stand_in
from envbuilder.incontainer.probe.values import dotted, text

LIBRARIES_LIMIT = 180


def property_version(library, function):
    """Return the version from a CUDA library with separate functions for major, minor and patch."""
    ask = getattr(library, function)
    parts = []
    for which in range(3):
        value = ctypes.c_int(-1)
        if ask(which, ctypes.byref(value)) != 0:
            return None
        parts.append(str(value.value))
    return ".".join(parts)


def runtime_version(library):
    """Return the version of the CUDA runtime, such as 11.8."""
    value = ctypes.c_int(-1)
    if library.cudaRuntimeGetVersion(ctypes.byref(value)) != 0:
        return None
    return "{0}.{1}".format(value.value // 1000, value.value % 1000 // 10)


def cudnn_version(library):
    """Return the version of cuDNN: major*1000 up to 8.x, major*10000 from 9 on."""
    library.cudnnGetVersion.restype = ctypes.c_size_t
    number = library.cudnnGetVersion()
    return dotted(number, 1000 if number < 10000 else 10000, 100)


def nccl_version(library):
    """Return the version of NCCL: major*1000 up to 2.8, major*10000 from 2.9 on."""
    value = ctypes.c_int(-1)
    if library.ncclGetVersion(ctypes.byref(value)) != 0:
        return None
    return dotted(value.value, 1000 if value.value < 10000 else 10000, 100)


def library_version(soname, library):
    """Return the version that the library reports; None if it has no function for it or the function fails."""
    stem = soname.split(".so")[0]
    special = {"libcudart": runtime_version, "libcudnn": cudnn_version, "libnccl": nccl_version}
    try:
        if stem in special:
            return special[stem](library)
        return property_version(library, stem[3:] + "GetProperty")
    except AttributeError:
        return None


def cudnn_runtime(soname, library):
    """Return the CUDA runtime that a cuDNN was built with, such as 11.8; None for another library."""
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
    """Return the real path of a loaded library, as known to the loader itself; empty if unknown."""
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
    """Return the argument for dlopen, and its origin: LD_LIBRARY_PATH, TensorFlow's RUNPATH, the loader's cache."""
    own = [folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    if any(os.path.exists(os.path.join(folder, soname)) for folder in own):
        return soname, "LD_LIBRARY_PATH"
    for folder in folders:
        if os.path.exists(os.path.join(folder, soname)):
            return os.path.join(folder, soname), "RUNPATH"
    return soname, "loader"


def library_facts(soname, folders):
    """Load one library and return its version."""
    target, via = where(soname, folders)
    try:
        library = ctypes.CDLL(target)
    except OSError as error:
        return {"loaded": False, "error": text(error), "path": "", "via": via, "version": None, "cudart": None}
    path = loaded_path(library)
    stand_in = is_stand_in(path)
    return {
        "loaded": True,
        "error": "",
        "path": path,
        "via": via,
        "version": None if stand_in else library_version(soname, library),
        "cudart": None if stand_in else cudnn_runtime(soname, library),
        "stand_in": stand_in,
    }


def own_search_path():
    """Return the directories that the installed TensorFlow searches by itself; empty without TensorFlow."""
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


def cudnn_start(request):
    """Make cuDNN do its first work, which opens the libraries behind it; no GPU and no driver is needed for that.

    cuDNN ends the process if one of them is missing: 8.6 and 8.7 for CUDA 11 open libnvrtc.so by that very name.
    """
    soname = cudnn_soname(request)
    library = ctypes.CDLL(where(soname, own_search_path())[0])
    descriptor = ctypes.c_void_p()
    status = library.cudnnCreateTensorDescriptor(ctypes.byref(descriptor))
    if status == 0:
        library.cudnnDestroyTensorDescriptor(descriptor)
    return {"soname": soname, "status": status}


def cudnn_soname(request):
    """Return the cuDNN in a request; empty if it has none."""
    named = [name for name in request["sonames"] if name.split(".so")[0] == "libcudnn"]
    return named[0] if named else ""


def part_cudnn(request, report, only):
    """Child: start cuDNN."""
    report("cudnn-start", cudnn_start, request)


def cudnn(request, path):
    """Return the result of starting cuDNN; None if it was not requested."""
    return run_part("cudnn", path, ["cudnn-start"], LIBRARIES_LIMIT)[0]["cudnn-start"]


def libraries(request, path):
    """Load every requested library; a crash of one does not affect the others."""
    wanted = sorted(set(request["sonames"]) | set(request["optional_sonames"]))
    return run_part("libraries", path, wanted, LIBRARIES_LIMIT)[0] if wanted else {}
