"""The CUDA libraries that are there, called by their C interfaces."""

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
    """A function of a CUDA library gave another result than success."""


class NoLibrary(RuntimeError):
    """A CUDA library that is needed for this could not be opened."""


class CudaLibrary(object):
    """One CUDA library: where it is, and its functions; every result that is not success is an error.

    It may not be there: then its first use says why.
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
        """cuBLAS needs the cublasLt that lies beside it; the wheels of CUDA 11 leave it to others to find that."""
        beside = os.path.join(os.path.dirname(target), soname.replace("libcublas.", "libcublasLt."))
        if soname.startswith("libcublas.") and os.path.isabs(target) and os.path.exists(beside):
            ctypes.CDLL(beside)

    def told(self):
        """Where it is, or why it is not there."""
        return {"soname": self.soname, "loaded": self.handle is not None, "path": self.path, "error": self.error}

    def function(self, name):
        """One of its functions."""
        if self.handle is None:
            raise NoLibrary(self.error)
        return getattr(self.handle, name)

    def call(self, name, *arguments):
        """Call a function."""
        code = self.function(name)(*arguments)
        if code != 0:
            raise CudaFailed("{0}: {1} {2}".format(name, code, self.explain(self.handle, code)).rstrip())

    def version(self, name):
        """Version that a function writes as a number, such as 12.4; None for 0, which means that there is no driver."""
        value = ctypes.c_int(0)
        self.call(name, ctypes.byref(value))
        return None if value.value == 0 else "{0}.{1}".format(value.value // 1000, value.value % 1000 // 10)


def named_by(library, names, code):
    """What functions of the library say of a result, as far as it has them."""
    said = []
    for name in names:
        ask = getattr(library, name, None)
        if ask is not None:
            ask.restype = ctypes.c_char_p
            said.append(text(ask(code) or b""))
    return ": ".join(said)


def explain_runtime(library, code):
    """Name and text of a result of the CUDA runtime."""
    return named_by(library, ("cudaGetErrorName", "cudaGetErrorString"), code)


def explain_cublas(library, code):
    """Name of a result of cuBLAS; it tells by itself from 11.4 on."""
    return named_by(library, ("cublasGetStatusName",), code) or CUBLAS_RESULTS.get(code, "")


def explain_cudnn(library, code):
    """Name of a result of cuDNN."""
    return named_by(library, ("cudnnGetErrorString",), code)


class Toolkit(object):
    """Runtime, cuBLAS and cuDNN that fit together, behind the driver."""

    def __init__(self, sonames):
        folders = own_search_path() + wheel_folders()
        asked = dict((stem, [name for name in sonames if name.split(".so")[0] == stem]) for stem in CUDA_STEMS)
        # The runtime opens libcuda.so.1 by itself; opened first, it is known which one it gets.
        self.stub = self._driver_is_stub()
        known = first_stack(folders) if not asked["libcudart"] else ((), (), ())
        self.cudart, self.cublas, self.cudnn = (
            CudaLibrary(asked[stem] or names, folders, explain)
            for stem, names, explain in zip(CUDA_STEMS, known, (explain_runtime, explain_cublas, explain_cudnn))
        )

    @staticmethod
    def _driver_is_stub():
        """Whether libcuda.so.1 is the linker's stub; None when there is none."""
        try:
            return looks_like_stub(loaded_path(ctypes.CDLL("libcuda.so.1")))
        except OSError:
            return None

    def told(self):
        """The libraries by name."""
        return {"cudart": self.cudart.told(), "cublas": self.cublas.told(), "cudnn": self.cudnn.told()}


CUDA_STEMS = ("libcudart", "libcublas", "libcudnn")


def first_stack(folders):
    """Sonames of runtime, cuBLAS and cuDNN: of the newest CUDA with runtime and cuBLAS, with the runtime, or of all."""
    started = [stack for stack in CUDA_STACKS if is_there(stack[0], folders)]
    whole = [stack for stack in started if is_there(stack[1], folders)]
    runtime, cublas, cudnn = (whole + started + [CUDA_STACKS[0]])[0]
    return (runtime,), (cublas,), cudnn


def is_there(soname, folders):
    """Whether a library lies where the loader, the environment or TensorFlow looks."""
    return where(soname, folders)[1] != "loader" or bool(cached_libraries(soname))


def known_sonames():
    """Every library of the table that is there, sorted."""
    folders = own_search_path()
    every = set()
    for runtime, cublas, cudnn in CUDA_STACKS:
        every |= set((runtime, cublas) + cudnn)
    return sorted(soname for soname in every if is_there(soname, folders))


def wheel_folders():
    """Folders in which NVIDIA's wheels put libraries."""
    found = []
    for entry in sys.path:
        found += sorted(glob.glob(os.path.join(entry, "nvidia", "*", "lib")), reverse=True)
    return found


class GpuMemory(object):
    """Memory on the current GPU; all of it is given back at the end of a `with`."""

    def __init__(self, cudart):
        self.cudart, self.held = cudart, []

    def __enter__(self):
        return self

    def __exit__(self, *ended):
        for pointer in self.held:
            self.cudart.function("cudaFree")(pointer)

    def take(self, size):
        """Memory of a number of bytes."""
        pointer = ctypes.c_void_p()
        self.cudart.call("cudaMalloc", ctypes.byref(pointer), ctypes.c_size_t(size))
        self.held.append(pointer)
        return pointer

    def put(self, data):
        """A copy of these bytes."""
        pointer = self.take(len(data))
        self.cudart.call("cudaMemcpy", pointer, ctypes.c_char_p(data), ctypes.c_size_t(len(data)), TO_GPU)
        return pointer

    def get(self, pointer, size):
        """The bytes that are there now."""
        buffer = ctypes.create_string_buffer(size)
        self.cudart.call("cudaMemcpy", buffer, pointer, ctypes.c_size_t(size), FROM_GPU)
        return buffer.raw

    def free_and_total(self):
        """Bytes that are free, and all bytes."""
        free, total = ctypes.c_size_t(0), ctypes.c_size_t(0)
        self.cudart.call("cudaMemGetInfo", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value


def floats(values):
    """Numbers as the bytes of float32."""
    return struct.pack("<{0}f".format(len(values)), *values)


def numbers_of(data):
    """Bytes of float32 as numbers."""
    return struct.unpack("<{0}f".format(len(data) // 4), data)


def largest_difference(expected, seen):
    """Largest difference of two lists of numbers; not a number where one is none."""
    differences = [abs(one - other) for one, other in zip(expected, seen)]
    return float("nan") if any(value != value for value in differences) else max(differences)
