"""Libraries that TensorFlow opens at run time, read from the functions that open them.

From 1.14 on every CUDA library has a function `DsoLoader::Get<Name>DsoHandle()`, which puts a library name and a
version into two strings and passes them to one function, which opens `lib<name>.so.<version>`, or `lib<name>.so`. The
strings are made in four ways: by a constructor with a C string (old std::string), by one with the
begin and the end of a text (new std::string, GCC 5), by stores into the string itself (new std::string of at most 15
characters), and for the version as a pointer and a length (std::string_view).
"""

from __future__ import annotations

import re

from elftools.elf.elffile import ELFFile

from envbuilder.curation.wheel_audit.code.binary import Binary, Function
from envbuilder.curation.wheel_audit.code.constant_propagation import walk
from envbuilder.curation.wheel_audit.code.cpu_state import CpuState, Value
from envbuilder.curation.wheel_audit.code.instructions import Register

_LOADER = re.compile(rb"_ZN[0-9a-z_]{1,80}9DsoLoader\d{1,2}Get[A-Za-z0-9]{1,40}DsoHandleEv")
_SHORT_NAME = re.compile(r"Get(\w+)DsoHandleEv$")
_AMD = re.compile(r"Hip|Miopen|Rccl|Roc")
_CONSTRUCTOR = re.compile(r"_ZNSsC[12]EPKcRKSaIcE")
"""`std::string(const char*)` of the old ABI."""

_LIBRARY = re.compile(r"[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*")
_VERSION = re.compile(r"(?:\d+(?:\.\d+)*)?")
_INSIDE, _SHORT = 16, 15
"""Offset of the buffer for short texts in a std::string of the new ABI, and its capacity in characters."""
_LONGEST = 40


def opened_sonames(elf: ELFFile) -> tuple[tuple[str, str], ...]:
    """Return the libraries that TensorFlow opens with `dlopen` for CUDA.

    Args:
        elf: `libtensorflow_framework.so.*`, or another library that may contain the loader.

    Returns:
        Shape: `(loader, soname)` such as `("CudaRuntime", "libcudart.so.11.0")`, by loader, each loader once; empty
        when the library opens none. A loader whose names cannot be read is left out, and so are those of AMD's
        libraries. Where a loader tries one soname after another (CUPTI), it is the first.
    """
    binary = Binary(elf)
    found = {}
    for function in binary.functions(_LOADER):
        loader = _loader(function)
        soname = None if _AMD.match(loader) else _opened(binary, function)
        if soname is not None:
            found[loader] = soname
    return tuple(sorted(found.items()))


def _loader(function: Function) -> str:
    named = _SHORT_NAME.search(function.name)
    return named[1] if named else function.name


def _opened(binary: Binary, function: Function) -> str | None:
    """Return the soname in the first call with two strings."""
    strings = _Strings(binary)
    for step, state in walk(binary.code(function), function.address):
        if step.called is None or strings.constructed(step.called, state):
            continue
        soname = _soname(strings, state)
        if soname is not None:
            return soname
    return None


def _soname(strings: _Strings, state: CpuState) -> str | None:
    """Return the library of a call `open(result, name, version)`; None for other arguments."""
    name, version = strings.string(state, Register.RSI), strings.string(state, Register.RDX)
    if version is None:
        version = strings.view(state, Register.RDX, Register.RCX)
    if name is None or version is None or not _LIBRARY.fullmatch(name) or not _VERSION.fullmatch(version):
        return None
    return f"lib{name}.so.{version}" if version else f"lib{name}.so"


class _Strings:
    """The strings that a function has created, in any of the four ways."""

    def __init__(self, binary: Binary) -> None:
        self._binary = binary
        self._made: dict[Value, str] = {}

    def constructed(self, called: int, state: CpuState) -> bool:
        """Return True if a call creates a string, which is recorded by its address."""
        place, begin = state.register(Register.RDI), state.register(Register.RSI).number
        if _CONSTRUCTOR.fullmatch(self._binary.imported(called)):
            text = None if begin is None else self._binary.text(begin)
        elif state.load(place, 8) == place.moved(_INSIDE) and begin is not None:
            text = self._between(begin, state.register(Register.RDX).number)
        else:
            return False
        self._made.pop(place, None)
        if text is not None:
            self._made[place] = text
        return True

    def string(self, state: CpuState, register: Register) -> str | None:
        """Return the std::string that a register points to; None if it points to none, or it cannot be read."""
        place = state.register(register)
        return self._made[place] if place in self._made else _stored(state, place)

    def view(self, state: CpuState, length: Register, pointer: Register) -> str | None:
        """Return the std::string_view in two registers; None if it cannot be read."""
        size, place = state.register(length).number, state.register(pointer).number
        if size == 0:
            return ""
        return None if size is None or place is None else self._between(place, place + size)

    def _between(self, begin: int, end: int | None) -> str | None:
        size = -1 if end is None else end - begin
        return _text(self._binary.read(begin, size), size) if 0 <= size <= _LONGEST else None


def _stored(state: CpuState, place: Value) -> str | None:
    """Return a string whose characters were stored one by one into its buffer for short texts."""
    inside, size = place.moved(_INSIDE), state.load(place.moved(8), 8).number
    if place.number is not None or size is None or size > _SHORT or state.load(place, 8) != inside:
        return None
    return _text(state.octets(inside, size), size)


def _text(octets: bytes | None, size: int) -> str | None:
    return octets.decode("ascii") if octets is not None and len(octets) == size and octets.isascii() else None
