"""TensorFlow's own test of the CUDA libraries."""

import ctypes
import os
import re

from envbuilder.incontainer.probe.children import run_part
from envbuilder.incontainer.probe.elf import Elf, tensorflow_libraries
from envbuilder.incontainer.probe.values import look

OWN_CHECK_LIMIT = 180
NO_OWN_CHECK = {"available": False, "ok": None, "raw": None, "symbol": "", "library": "", "missing": []}


def part_own_check(request, report, only):
    """Child: call TensorFlow's own test of the CUDA libraries."""
    report("own-check", own_check)


def own_check():
    """Call `DsoLoader::TryDlopenCUDALibraries()`, which TensorFlow calls before it registers GPUs.

    The function returns an absl::Status (earlier tensorflow::Status) by value. Both are one pointer wide with a
    destructor, so the caller passes a buffer as hidden first argument. OK is 0 in tensorflow::Status and in older
    absl, 1 (inlined code 0) in newer absl; an error is a heap pointer or an inlined code other than 0.
    """
    for path in tensorflow_libraries():
        names = [name for name in Elf(path).defined(b"TryDlopenCUDALibraries") if name.startswith("_Z")]
        if names:
            return call_own_check(path, names[0])
    return dict(NO_OWN_CHECK)


def call_own_check(path, symbol):
    """Call the test by its mangled name."""
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
    """Return the result of the test, with the libraries that TensorFlow's log names as missing."""
    if not tensorflow_libraries():
        return look(dict, NO_OWN_CHECK)
    seen, log = run_part("own-check", path, ["own-check"], OWN_CHECK_LIMIT)
    fact = seen["own-check"]
    if fact["ok"]:
        named = [re.search(r"(lib[\w.+-]+\.so[\w.]*): cannot open shared object", line) for line in log]
        fact["value"]["missing"] = sorted(set(match.group(1) for match in named if match))
    return fact
