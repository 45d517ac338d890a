"""Cut x86-64 machine code into instructions, with the operands that matter for following constants."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from envbuilder.curation.wheel_audit.code.opcodes import Space, constant_bytes, has_modrm, is_valid

LONGEST = 15
"""Bytes of the longest instruction that a processor takes."""

_SEGMENTS = frozenset({0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65})
_PREFIXES = _SEGMENTS | {0x66, 0x67, 0xF0, 0xF2, 0xF3}
_THREAD = frozenset({0x64, 0x65})
_SIGNED = {1: struct.Struct("<b"), 2: struct.Struct("<h"), 4: struct.Struct("<i"), 8: struct.Struct("<q")}
_BYTE_WIDE = frozenset({0x80, 0x84, 0x86, 0x88, 0x8A, 0xC6, 0xF6, 0xFE})
_NEAR_JUMPS = range(0x80, 0x90)
_SHORT_JUMPS = (*range(0x70, 0x80), *range(0xE0, 0xE4), 0xE9, 0xEB)
_ENDS = frozenset({0xC2, 0xC3, 0xCB, 0xE9, 0xEB, 0xF4})


class Encoding(StrEnum):
    """How an instruction is written; the two later ones came with AVX and AVX-512."""

    LEGACY = "legacy"
    VEX = "vex"
    EVEX = "evex"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """An operand in memory.

    Attributes:
        base: Register that holds an address; None for none, and for addresses relative to the instruction.
        index: Register that is added to it; None for none.
        displacement: What is added to both.
        relative: The displacement counts from the end of the instruction.
        thread: The address is one of thread-local storage.
    """

    base: int | None
    index: int | None
    displacement: int
    relative: bool = False
    thread: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One instruction.

    Attributes:
        address: Where it begins.
        length: In bytes.
        encoding: How it is written.
        space: Table of its opcode.
        opcode: Number in that table.
        size: Bytes of a general operand: 1, 2, 4 or 8.
        register: The operand in a register; for opcodes that share one ModRM field, see `digit`.
        digit: The three `reg` bits alone, which tell apart instructions with one opcode.
        direct: The second operand when it is a register; None when it is in memory, or when there is none.
        memory: The second operand when it is in memory.
        constant: The constant at its end, signed; 0 when it has none.
        rex: It has a REX prefix, so that byte registers 4 to 7 are the low bytes of registers.
    """

    address: int
    length: int
    encoding: Encoding
    space: Space
    opcode: int
    size: int
    register: int
    digit: int
    direct: int | None
    memory: Memory | None
    constant: int
    rex: bool

    @property
    def end(self) -> int:
        """Address of the next instruction in memory."""
        return self.address + self.length

    @property
    def key(self) -> tuple[Space, int]:
        """Table and opcode."""
        return self.space, self.opcode

    @property
    def is_call(self) -> bool:
        """Whether it calls a function, at a constant address or another."""
        return self.key == (Space.ONE_BYTE, 0xE8) or (self.key == (Space.ONE_BYTE, 0xFF) and self.digit == 2)

    @property
    def called(self) -> int | None:
        """Address of the function that it calls; None when it calls none, or the address is not constant."""
        return self.end + self.constant if self.key == (Space.ONE_BYTE, 0xE8) else None

    @property
    def jumps_to(self) -> int | None:
        """Where it jumps, always or on a condition; None when it does not, or the address is not constant."""
        near = self.space is Space.TWO_BYTE and self.opcode in _NEAR_JUMPS
        short = self.space is Space.ONE_BYTE and self.opcode in _SHORT_JUMPS
        return self.end + self.constant if near or short else None

    @property
    def ends_block(self) -> bool:
        """Whether what follows in memory is never run after it."""
        if self.space is Space.TWO_BYTE:
            return self.opcode == 0x0B
        return self.space is Space.ONE_BYTE and (self.opcode in _ENDS or (self.opcode == 0xFF and self.digit in {4, 5}))


def instructions(code: bytes, address: int) -> Iterator[Instruction]:
    """The instructions of a function, in memory order, up to its end or to what is no instruction.

    Args:
        code: Its bytes.
        address: Where they lie at run time.
    """
    place = 0
    while place < len(code):
        found = decode(code, place, address + place)
        if found is None:
            return
        yield found
        place += found.length


def decode(code: bytes, place: int, address: int) -> Instruction | None:
    """One instruction; None when the bytes are none that is known here, or are too few.

    Args:
        code: Machine code.
        place: Where the instruction begins in it.
        address: Where it lies at run time.
    """
    try:
        return _Cut(code, place, address).instruction()
    except (IndexError, struct.error):
        return None


class _Cut:
    """The state of decoding one instruction; whoever reads past the end gets an `IndexError` or `struct.error`."""

    __slots__ = ("_address", "_begin", "_code", "_place", "_prefixes", "_rex")

    def __init__(self, code: bytes, place: int, address: int) -> None:
        self._code, self._begin, self._place, self._address = code, place, place, address
        self._prefixes: set[int] = set()
        self._rex = 0

    def instruction(self) -> Instruction | None:
        self._read_prefixes()
        encoding, space, opcode = self._read_opcode()
        if space is None or not is_valid(space, opcode):
            return None
        return self._read_operands(encoding, space, opcode)

    def _byte(self) -> int:
        value = self._code[self._place]
        self._place += 1
        return value

    def _number(self, size: int) -> int:
        if size not in _SIGNED:
            self._place += size
            return 0
        (value,) = _SIGNED[size].unpack_from(self._code, self._place)
        self._place += size
        return int(value)

    def _read_prefixes(self) -> None:
        while (byte := self._code[self._place]) in _PREFIXES and self._place - self._begin < LONGEST:
            self._prefixes.add(byte)
            self._place += 1
        if byte & 0xF0 == 0x40:
            self._rex = byte
            self._place += 1

    def _read_opcode(self) -> tuple[Encoding, Space | None, int]:
        byte = self._byte()
        if byte == 0x62:
            return self._read_evex()
        if byte in {0xC4, 0xC5}:
            return self._read_vex(short=byte == 0xC5)
        if byte != 0x0F:
            return Encoding.LEGACY, Space.ONE_BYTE, byte
        byte = self._byte()
        if byte in {0x38, 0x3A}:
            return Encoding.LEGACY, Space.X38 if byte == 0x38 else Space.X3A, self._byte()
        return Encoding.LEGACY, Space.TWO_BYTE, byte

    def _read_vex(self, *, short: bool) -> tuple[Encoding, Space | None, int]:
        first = self._byte()
        table, wide = (Space.TWO_BYTE.value, 0) if short else (first & 0x1F, self._byte() & 0x80)
        self._rex = 0x40 | _inverted(first, (0x80,) if short else (0x80, 0x40, 0x20)) | (8 if wide else 0)
        return Encoding.VEX, _space(table, (1, 2, 3)), self._byte()

    def _read_evex(self) -> tuple[Encoding, Space | None, int]:
        first, second, _ = self._byte(), self._byte(), self._byte()
        self._rex = 0x40 | _inverted(first, (0x80, 0x40, 0x20)) | (8 if second & 0x80 else 0)
        return Encoding.EVEX, _space(first & 7, (1, 2, 3, 5, 6)), self._byte()

    def _read_operands(self, encoding: Encoding, space: Space, opcode: int) -> Instruction | None:
        modrm = self._byte() if has_modrm(space, opcode) else None
        register, direct, memory = opcode & 7 | (self._rex & 1) << 3, None, None
        if modrm is not None:
            register = modrm >> 3 & 7 | (self._rex & 4) << 1
            if modrm >> 6 == 3:
                direct = modrm & 7 | (self._rex & 1) << 3
            else:
                memory = self._read_memory(modrm)
        digit = register & 7
        wide, narrow = bool(self._rex & 8), 0x66 in self._prefixes
        constant = self._number(constant_bytes(space, opcode, digit=digit, wide=wide, narrow=narrow))
        length = self._place - self._begin
        if length > LONGEST or self._place > len(self._code):
            return None
        return Instruction(
            address=self._address,
            length=length,
            encoding=encoding,
            space=space,
            opcode=opcode,
            size=1 if _is_byte_wide(space, opcode) else 8 if wide else 2 if narrow else 4,
            register=register,
            digit=digit,
            direct=direct,
            memory=memory,
            constant=constant,
            rex=self._rex != 0,
        )

    def _read_memory(self, modrm: int) -> Memory:
        mode, base = modrm >> 6, modrm & 7
        thread = bool(self._prefixes & _THREAD)
        if base == 4:
            return self._read_scaled(mode, thread=thread)
        if mode == 0 and base == 5:
            return Memory(base=None, index=None, displacement=self._number(4), relative=True, thread=thread)
        return Memory(
            base=base | (self._rex & 1) << 3, index=None, displacement=self._read_displacement(mode), thread=thread
        )

    def _read_scaled(self, mode: int, *, thread: bool) -> Memory:
        byte = self._byte()
        low, index = byte & 7, byte >> 3 & 7 | (self._rex & 2) << 2
        without = low == 5 and mode == 0
        return Memory(
            base=None if without else low | (self._rex & 1) << 3,
            index=None if index == 4 else index,
            displacement=self._number(4) if without else self._read_displacement(mode),
            thread=thread,
        )

    def _read_displacement(self, mode: int) -> int:
        return 0 if mode == 0 else self._number(1 if mode == 1 else 4)


def _space(table: int, known: tuple[int, ...]) -> Space | None:
    return Space(table) if table in known else None


def _inverted(byte: int, masks: tuple[int, ...]) -> int:
    """The REX bits R, X, B out of a byte that holds them inverted, in this order from its top bit."""
    return sum(bit for bit, mask in zip((4, 2, 1), masks, strict=False) if not byte & mask)


def _is_byte_wide(space: Space, opcode: int) -> bool:
    if space is not Space.ONE_BYTE:
        return space is Space.TWO_BYTE and (0x90 <= opcode < 0xA0 or opcode in {0xB0, 0xB6, 0xBE, 0xC0})
    arithmetic = opcode < 0x40 and opcode & 7 in {0, 2, 4}
    return arithmetic or 0xB0 <= opcode < 0xB8 or opcode in _BYTE_WIDE
