"""The installed CUDA libraries, called by their C interfaces."""

import ctypes
import glob
import os
import struct
import sys

from envbuilder.incontainer.probe.driver import cached_libraries, looks_like_stub
from envbuilder.incontainer.probe.libraries import loaded_path, own_search_path, where
from envbuilder.incontainer.probe.values import text

# Runtime, cuBLAS and the cuDNNs of each CUDA release, newest first.
# Source: sonames in NVIDIA's images and wheels of CUDA 8.0 to 13.1, read 2026-11-20 and 2026-11-21.
CUDA_STACKS = (
    ("libcudart.so.13", "libcublas.so.13", ("libcudnn.so.9",)),
    ("libcudart.so.12", "libcublas.so.12", ("libcudnn.so.9", "libcudnn.so.8")),
    ("libcudart.so.11.0", "libcublas.so.11", ("libcudnn.so.9", "libcudnn.so.8")),
    ("libcudart.so.10.2", "libcublas.so.10", ("libcudnn.so.8", "libcudnn.so.7")),
    ("libcudart.so.10.1", "libcublas.so.10", ("libcudnn.so.8", "libcudnn.so.7")),
    ("libcudart.so.10.0", "libcublas.so.10.0", ("libcudnn.so.7",)),
    ("libcudart.so.9.2", "libcublas.so.9.2", ("libcudnn.so.7",)),
    ("libcudart.so.9.1", "libcublas.so.9.1", ("libcudnn.so.7",)),
    ("libcudart.so.9.0", "libcublas.so.9.0", ("libcudnn.so.7",)),
    ("libcudart.so.8.0", "libcublas.so.8.0", ("libcudnn.so.7", "libcudnn.so.6", "libcudnn.so.5")),
)
CUBLAS_RESULTS = {
    1: "CUBLAS_STATUS_NOT_INITIALIZED",
    3: "CUBLAS_STATUS_ALLOC_FAILED",
    7: "CUBLAS_STATUS_INVALID_VALUE",
    8: "CUBLAS_STATUS_ARCH_MISMATCH",
    11: "CUBLAS_STATUS_MAPPING_ERROR",
    13: "CUBLAS_STATUS_EXECUTION_FAILED",
    14: "CUBLAS_STATUS_INTERNAL_ERROR",
    15: "CUBLAS_STATUS_NOT_SUPPORTED",
}
TO_GPU, FROM_GPU = 1, 2


class CudaFailed(RuntimeError):
    """Another result than success of a function of a CUDA library."""


class NoLibrary(RuntimeError):
    """A required CUDA library that could not be opened."""


class CudaLibrary(object):
    """One CUDA library: its path, and its functions; every result that is not success is an error.

    If it is missing, its first use raises the reason.
    """

    def __init__(self, sonames, folders, explain):
        self.explain, self.handle, self.path = explain, None, ""
        self.soname = sonames[0] if sonames else ""
        self.error = "" if sonames else "not in the request"
        for soname in sonames:
            target = where(soname, folders)[0]
            try:
                self._open_beside(target, soname)
                self.handle = ctypes.CDLL(target)
            except OSError as error:
                self.error = self.error or text(error)
                continue
            self.soname, self.path, self.error = soname, loaded_path(self.handle), ""
            break

    @staticmethod
    def _open_beside(target, soname):
        """Open the cublasLt beside cuBLAS, which needs it; the wheels of CUDA 11 do not set a search path for it."""
        beside = os.path.join(os.path.dirname(target), soname.replace("libcublas.", "libcublasLt."))
        if soname.startswith("libcublas.") and os.path.isabs(target) and os.path.exists(beside):
            ctypes.CDLL(beside)

    def told(self):
        """Return its path, or the reason why it is missing."""
        return {"soname": self.soname, "loaded": self.handle is not None, "path": self.path, "error": self.error}

    def function(self, name):
        """Return one of its functions."""
        if self.handle is None:
            raise NoLibrary(self.error)
        return getattr(self.handle, name)

    def call(self, name, *arguments):
        """Call a function."""
        code = self.function(name)(*arguments)
        if code != 0:
            raise CudaFailed("{0}: {1} {2}".format(name, code, self.explain(self.handle, code)).rstrip())

    def version(self, name):
        """Return the version that a function writes as a number, such as 12.4; None for 0 (no driver)."""
        value = ctypes.c_int(0)
        self.call(name, ctypes.byref(value))
        return None if value.value == 0 else "{0}.{1}".format(value.value // 1000, value.value % 1000 // 10)


def named_by(library, names, code):
    """Return the texts of functions of the library about a result, as far as it has them."""
    said = []
    for name in names:
        ask = getattr(library, name, None)
        if ask is not None:
            ask.restype = ctypes.c_char_p
            said.append(text(ask(code) or b""))
    return ": ".join(said)


def explain_runtime(library, code):
    """Return name and text of a result of the CUDA runtime."""
    return named_by(library, ("cudaGetErrorName", "cudaGetErrorString"), code)


def explain_cublas(library, code):
    """Return the name of a result of cuBLAS, which has a function for it from 11.4 on."""
    return named_by(library, ("cublasGetStatusName",), code) or CUBLAS_RESULTS.get(code, "")


def explain_cudnn(library, code):
    """Return the name of a result of cuDNN."""
    return named_by(library, ("cudnnGetErrorString",), code)


class Toolkit(object):
    """Runtime, cuBLAS and cuDNN of one CUDA release, behind the driver."""

    def __init__(self, sonames):
        folders = own_search_path() + wheel_folders()
        asked = dict((stem, [name for name in sonames if name.split(".so")[0] == stem]) for stem in CUDA_STEMS)
        # The runtime opens libcuda.so.1 by itself; opened first, its path is known.
        self.stub = self._driver_is_stub()
        known = first_stack(folders) if not asked["libcudart"] else ((), (), ())
        self.cudart, self.cublas, self.cudnn = (
            CudaLibrary(asked[stem] or names, folders, explain)
            for stem, names, explain in zip(CUDA_STEMS, known, (explain_runtime, explain_cublas, explain_cudnn))
        )

    @staticmethod
    def _driver_is_stub():
        """Return True if libcuda.so.1 is the linker's stub; None if there is none."""
        try:
            return looks_like_stub(loaded_path(ctypes.CDLL("libcuda.so.1")))
        except OSError:
            return None

    def told(self):
        """Return the libraries by name."""
        return {"cudart": self.cudart.told(), "cublas": self.cublas.told(), "cudnn": self.cudnn.told()}


CUDA_STEMS = ("libcudart", "libcublas", "libcudnn")


def first_stack(folders):
    """Return sonames of runtime, cuBLAS and cuDNN of one CUDA: the newest with both first, with the runtime, or any."""
    started = [stack for stack in CUDA_STACKS if is_there(stack[0], folders)]
    whole = [stack for stack in started if is_there(stack[1], folders)]
    runtime, cublas, cudnn = (whole + started + [CUDA_STACKS[0]])[0]
    return (runtime,), (cublas,), cudnn


def is_there(soname, folders):
    """Return True if a library is in the search paths of the loader, the environment or TensorFlow."""
    return where(soname, folders)[1] != "loader" or bool(cached_libraries(soname))


def known_sonames():
    """Return every existing library of the table, sorted."""
    folders = own_search_path()
    every = set()
    for runtime, cublas, cudnn in CUDA_STACKS:
        every |= set((runtime, cublas) + cudnn)
    return sorted(soname for soname in every if is_there(soname, folders))


def wheel_folders():
    """Return the directories of NVIDIA's wheels with libraries."""
    found = []
    for entry in sys.path:
        found += sorted(glob.glob(os.path.join(entry, "nvidia", "*", "lib")), reverse=True)
    return found


class GpuMemory(object):
    """Memory on the current GPU; all of it is released at the end of a `with`."""

    def __init__(self, cudart):
        self.cudart, self.held = cudart, []

    def __enter__(self):
        return self

    def __exit__(self, *ended):
        for pointer in self.held:
            self.cudart.function("cudaFree")(pointer)

    def take(self, size):
        """Allocate a number of bytes."""
        pointer = ctypes.c_void_p()
        self.cudart.call("cudaMalloc", ctypes.byref(pointer), ctypes.c_size_t(size))
        self.held.append(pointer)
        return pointer

    def put(self, data):
        """Return a copy of these bytes in GPU memory."""
        pointer = self.take(len(data))
        self.cudart.call("cudaMemcpy", pointer, ctypes.c_char_p(data), ctypes.c_size_t(len(data)), TO_GPU)
        return pointer

    def get(self, pointer, size):
        """Return the current bytes."""
        buffer = ctypes.create_string_buffer(size)
        self.cudart.call("cudaMemcpy", buffer, pointer, ctypes.c_size_t(size), FROM_GPU)
        return buffer.raw

    def free_and_total(self):
        """Return free and total bytes."""
        free, total = ctypes.c_size_t(0), ctypes.c_size_t(0)
        self.cudart.call("cudaMemGetInfo", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value


def floats(values):
    """Return numbers as the bytes of float32."""
    return struct.pack("<{0}f".format(len(values)), *values)


def numbers_of(data):
    """Return bytes of float32 as numbers."""
    return struct.unpack("<{0}f".format(len(data) // 4), data)


def largest_difference(expected, seen):
    """Return the largest difference of two lists of numbers; not a number if one of them is not a number."""
    differences = [abs(one - other) for one, other in zip(expected, seen)]
    return float("nan") if any(value != value for value in differences) else max(differences)
