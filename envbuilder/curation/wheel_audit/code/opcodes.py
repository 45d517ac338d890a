"""Which x86-64 instructions have operands behind the opcode, and how long their constants are.

Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, appendix A (opcode maps) and chapter 2
(prefixes, ModRM, VEX, EVEX). Instruction borders were compared with those of GNU objdump over whole functions of
TensorFlow wheels (tests/unit/auditing/code/ holds examples of every form).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, IntEnum
from itertools import chain


class Space(IntEnum):
    """The table that an opcode is in, numbered as VEX and EVEX number them."""

    ONE_BYTE = 0
    TWO_BYTE = 1
    X38 = 2
    X3A = 3
    HALF_A = 5
    HALF_B = 6


class Constant(Enum):
    """The constant at the end of an instruction."""

    NONE = "none"
    BYTE = "1 byte"
    WORD = "2 bytes"
    WORD_BYTE = "2 bytes and 1 byte"
    NEAR = "4 bytes, the distance of a jump"
    FULL = "4 bytes, or 2 behind an operand-size prefix"
    WIDE = "8 bytes with REX.W, else as FULL"
    ADDRESS = "8 bytes"


def _set(*parts: int | Iterable[int]) -> frozenset[int]:
    return frozenset(chain.from_iterable((part,) if isinstance(part, int) else part for part in parts))


_ARITHMETIC = tuple(range(0x00, 0x40, 8))

_INVALID = {
    Space.ONE_BYTE: _set(
        *(range(row + 6, row + 8) for row in _ARITHMETIC),
        (0x60, 0x61, 0x62, 0x82, 0x9A, 0xC4, 0xC5, 0xCE, 0xD4, 0xD5, 0xD6, 0xEA),
    ),
    Space.TWO_BYTE: _set(0x04, 0x0A, 0x0C, range(0x24, 0x28), 0x36, range(0x38, 0x40), 0xA6, 0xA7),
}

_PLAIN = {
    Space.ONE_BYTE: _set(
        *((row + 4, row + 5) for row in _ARITHMETIC),
        range(0x50, 0x60), 0x68, 0x6A, range(0x6C, 0x80), range(0x90, 0xC0), 0xC2, 0xC3, range(0xC8, 0xD0), 0xD7,
        range(0xE0, 0xF0), 0xF1, 0xF4, 0xF5, range(0xF8, 0xFE),
    ),
    Space.TWO_BYTE: _set(
        range(0x05, 0x0A), 0x0B, 0x0E, range(0x30, 0x38), 0x77, range(0x80, 0x90),
        0xA0, 0xA1, 0xA2, 0xA8, 0xA9, 0xAA, range(0xC8, 0xD0),
    ),
}  # fmt: skip
"""Opcodes without a ModRM byte."""

_CONSTANTS: dict[Space, dict[Constant, frozenset[int]]] = {
    Space.ONE_BYTE: {
        Constant.BYTE: _set(
            *(row + 4 for row in _ARITHMETIC),
            0x6A, 0x6B, range(0x70, 0x80), 0x80, 0x83, 0xA8, range(0xB0, 0xB8), 0xC0, 0xC1, 0xC6, 0xCD,
            range(0xE0, 0xE8), 0xEB,
        ),
        Constant.FULL: _set(*(row + 5 for row in _ARITHMETIC), 0x68, 0x69, 0x81, 0xA9, 0xC7),
        Constant.WIDE: _set(range(0xB8, 0xC0)),
        Constant.WORD: _set(0xC2, 0xCA),
        Constant.WORD_BYTE: _set(0xC8),
        Constant.NEAR: _set(0xE8, 0xE9),
        Constant.ADDRESS: _set(range(0xA0, 0xA4)),
    },
    Space.TWO_BYTE: {
        Constant.BYTE: _set(0x0F, range(0x70, 0x74), 0xA4, 0xAC, 0xBA, 0xC2, range(0xC4, 0xC7)),
        Constant.NEAR: _set(range(0x80, 0x90)),
    },
    Space.X3A: {Constant.BYTE: _set(range(0x100))},
}  # fmt: skip

_BY_OPCODE = {
    space: {opcode: kind for kind, opcodes in kinds.items() for opcode in opcodes}
    for space, kinds in _CONSTANTS.items()
}

_BYTES = {
    Constant.NONE: 0,
    Constant.BYTE: 1,
    Constant.WORD: 2,
    Constant.WORD_BYTE: 3,
    Constant.NEAR: 4,
    Constant.FULL: 4,
    Constant.WIDE: 4,
    Constant.ADDRESS: 8,
}


def is_valid(space: Space, opcode: int) -> bool:
    """Whether there is such an instruction; rare ones that no compiler emits may be said to be."""
    return opcode not in _INVALID.get(space, ())


def has_modrm(space: Space, opcode: int) -> bool:
    """Whether a ModRM byte follows, which names a register and a second operand."""
    return opcode not in _PLAIN.get(space, ())


def constant_bytes(space: Space, opcode: int, *, digit: int, wide: bool, narrow: bool) -> int:
    """How many bytes the constant has.

    Args:
        space: Table of the opcode.
        opcode: Its number there.
        digit: The three `reg` bits of ModRM, which tell apart instructions with one opcode.
        wide: The instruction has REX.W.
        narrow: It has the operand-size prefix.
    """
    kind = _kind(space, opcode, digit)
    if kind is Constant.WIDE and wide:
        return 8
    if kind in {Constant.FULL, Constant.WIDE} and narrow and not wide:
        return 2
    return _BYTES[kind]


def _kind(space: Space, opcode: int, digit: int) -> Constant:
    if space is Space.ONE_BYTE and opcode in {0xF6, 0xF7}:
        if digit > 1:
            return Constant.NONE
        return Constant.BYTE if opcode == 0xF6 else Constant.FULL
    return _BY_OPCODE.get(space, {}).get(opcode, Constant.NONE)
