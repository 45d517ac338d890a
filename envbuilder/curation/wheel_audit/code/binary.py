"""The parts of an ELF file that its code refers to: bytes by address, functions by name, and calls to other libraries.

Only requested ranges are read: a library of a TensorFlow wheel has a gigabyte and a million symbols.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import gcd

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section

from envbuilder.curation.wheel_audit.code.instructions import MemoryOperand, instructions

_CHUNK = 1 << 20
_LONGEST_NAME = 1 << 14
_MOST_NAMES = 1 << 30
_MOST_FUNCTIONS = 256
"""More names in bytes, or more functions of one form, mean that a table is damaged."""

_LONGEST_FUNCTION = 1 << 16
_LONGEST_TEXT = 64
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_FUNCTION = 2
_GOLDEN = 0.618
"""Steps of this part of a circle are distributed evenly (golden ratio)."""

_FILLS_A_SLOT = frozenset({6, 7})
"""`R_X86_64_GLOB_DAT` and `R_X86_64_JUMP_SLOT`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function that the file defines and a symbol names.

    Attributes:
        name: As in the symbol table, mangled.
        address: Its address at run time.
        size: Bytes of its code.
    """

    name: str
    address: int
    size: int


@dataclass(frozen=True, slots=True)
class _Table:
    """A symbol table with its names, or any table: offsets in the file, no content."""

    offset: int
    size: int
    names: int = 0
    names_size: int = 0


class Binary:
    """An ELF file as seen by its own code.

    Args:
        elf: Opened on a seekable file of x86-64 code; exceptions of pyelftools for damaged tables are not caught.
    """

    def __init__(self, elf: ELFFile) -> None:
        self._elf = elf

    def read(self, address: int, size: int) -> bytes:
        """Return the bytes at an address as in the file; fewer, or none, if the file has none for it."""
        for begin, end, offset in self._mapped:
            if begin <= address < end:
                return self._at(offset + address - begin, min(size, end - address))
        return b""

    def text(self, address: int) -> str | None:
        """Return the C string at an address; None if there is no short printable ASCII text."""
        found, zero, _ = self.read(address, _LONGEST_TEXT).partition(b"\0")
        return found.decode("ascii") if zero and found.isascii() and found.decode("ascii").isprintable() else None

    def code(self, function: Function) -> bytes:
        """Return the machine code of a function; its first 64 KiB if it is longer."""
        return self.read(function.address, min(function.size, _LONGEST_FUNCTION))

    def functions(self, pattern: re.Pattern[bytes]) -> tuple[Function, ...]:
        """Return the functions that the file defines under names of one form, by name.

        The exported symbols are searched first; the full table only if no name is there.

        Args:
            pattern: Pattern of a whole name; it must begin with a text that other names do not contain, such as `_ZN`.
        """
        for table in (".dynsym", ".symtab"):
            symbols = self._symbols(table)
            names = dict(self._names(symbols, pattern)) if symbols else {}
            if symbols and names:
                found = islice(self._defined(symbols, names), _MOST_FUNCTIONS)
                return tuple(sorted(found, key=lambda function: (function.name, function.address)))
        return ()

    def sampled(self, most: int) -> Iterator[Function]:
        """Yield exported functions, from all over the symbol table regardless of their number.

        Args:
            most: Maximum number of examined symbols; the number of functions is smaller.
        """
        symbols = self._symbols(".dynsym")
        if symbols is None:
            return
        count = symbols.size // _SYMBOL.size
        stride = next(each for each in range(max(1, int(count * _GOLDEN)), count + 2) if gcd(each, count) <= 1)
        for number in range(min(most, count)):
            yield from self._symbol(symbols, number * stride % count)

    def imported(self, target: int) -> str:
        """Return the name of the function that a call to this address runs through the procedure linkage table, or "".

        Args:
            target: Address of the call: the function itself or its stub.
        """
        slot = self._slot(target)
        number = None if slot is None else self._slots.get(slot)
        symbols = self._symbols(".dynsym")
        if number is None or symbols is None:
            return ""
        entry = self._at(symbols.offset + number * _SYMBOL.size, _SYMBOL.size)
        return self._name(symbols, _SYMBOL.unpack(entry)[0]) if len(entry) == _SYMBOL.size else ""

    @cached_property
    def _mapped(self) -> tuple[tuple[int, int, int], ...]:
        loads = (each for each in self._elf.iter_segments() if each["p_type"] == "PT_LOAD")
        return tuple((each["p_vaddr"], each["p_vaddr"] + each["p_filesz"], each["p_offset"]) for each in loads)

    @cached_property
    def _slots(self) -> dict[int, int]:
        """Number of the symbol whose address the loader writes, by the address of the slot."""
        found: dict[int, int] = {}
        for name in (".rela.dyn", ".rela.plt"):
            section = self._elf.get_section_by_name(name)
            table = _Table(section["sh_offset"], section["sh_size"]) if section else _Table(0, 0)
            for place, info, _ in self._entries(table, _RELOCATION):
                if info & 0xFFFFFFFF in _FILLS_A_SLOT:
                    found[place] = info >> 32
        return found

    def _slot(self, target: int) -> int | None:
        """Return the slot with the address of a stub's real function: `endbr64` may precede `jmp [rip+...]`."""
        stub = self.read(target, 16)
        stub = stub.removeprefix(b"\xf3\x0f\x1e\xfa")
        jump = next(instructions(stub, target + 16 - len(stub)), None) if len(stub) > 6 else None
        place = jump.operands[0] if jump is not None and jump.name == "jmp" else None
        return jump.end + place.displacement if jump and isinstance(place, MemoryOperand) and place.relative else None

    def _symbols(self, name: str) -> _Table | None:
        section = self._elf.get_section_by_name(name)
        if not isinstance(section, Section) or not 0 < section["sh_link"] < self._elf.num_sections():
            return None
        names = self._elf.get_section(section["sh_link"])
        return _Table(section["sh_offset"], section["sh_size"], names["sh_offset"], min(names["sh_size"], _MOST_NAMES))

    def _names(self, table: _Table, pattern: re.Pattern[bytes]) -> Iterator[tuple[int, str]]:
        """Yield the offsets of names of this form in the name table, and the names."""
        whole = re.compile(pattern.pattern + rb"\0")
        for begin in range(0, table.names_size, _CHUNK):
            part = self._at(table.names + begin, min(_CHUNK + _LONGEST_NAME, table.names_size - begin))
            for match in whole.finditer(part):
                if match.start() < _CHUNK:
                    yield begin + match.start(), match[0][:-1].decode("ascii", "replace")

    def _defined(self, table: _Table, names: dict[int, str]) -> Iterator[Function]:
        for name, info, _, section, address, size in self._entries(table, _SYMBOL):
            if name in names and section and size and info & 15 == _FUNCTION:
                yield Function(name=names[name], address=address, size=size)

    def _symbol(self, table: _Table, number: int) -> Iterator[Function]:
        entry = self._at(table.offset + number * _SYMBOL.size, _SYMBOL.size)
        if len(entry) < _SYMBOL.size:
            return
        name, info, _, section, address, size = _SYMBOL.unpack(entry)
        if section and size and info & 15 == _FUNCTION:
            yield Function(name=self._name(table, name), address=address, size=size)

    def _name(self, table: _Table, place: int) -> str:
        size = min(_LONGEST_NAME, max(0, table.names_size - place))
        return self._at(table.names + place, size).partition(b"\0")[0].decode("ascii", "replace")

    def _entries(self, table: _Table, shape: struct.Struct) -> Iterator[tuple[int, ...]]:
        step = _CHUNK // shape.size * shape.size
        for begin in range(0, table.size, step):
            data = self._at(table.offset + begin, min(step, table.size - begin))
            yield from shape.iter_unpack(data[: len(data) // shape.size * shape.size])
            if not data:
                return

    def _at(self, offset: int, size: int) -> bytes:
        there = self._elf.stream_len - offset
        if there <= 0:
            return b""
        self._elf.stream.seek(offset)
        return self._elf.stream.read(min(size, there))
