"""Decoder of x86-64 machine code with capstone, from the optional dependency `audit`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any, TypeAlias

from envbuilder.core.install_commands import optional_package

_REGISTER, _CONSTANT, _MEMORY = 1, 2, 3
"""`X86_OP_REG`, `X86_OP_IMM` and `X86_OP_MEM`."""

_ENDS = frozenset({"ret", "retf", "retfq", "jmp", "ljmp", "hlt", "ud2"})
_JUMPS = ("j", "loop")


class Register(IntEnum):
    """The general registers by their number in instructions."""

    RAX = 0
    RCX = 1
    RDX = 2
    RBX = 3
    RSP = 4
    RBP = 5
    RSI = 6
    RDI = 7
    R8 = 8
    R9 = 9
    R10 = 10
    R11 = 11
    R12 = 12
    R13 = 13
    R14 = 14
    R15 = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Direct:
    """A general register, or its lower part, as an operand.

    Attributes:
        register: The whole register.
        size: Bytes of the operand.
        high: It is the second byte, such as `ah`.
    """

    register: Register
    size: int
    high: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOperand:
    """An operand in memory.

    Attributes:
        base: Register that holds an address; None for none.
        displacement: Number added to it.
        relative: The displacement counts from the end of the instruction.
        computed: The address depends on more: an index, thread-local storage, a part of a register.
        size: Bytes of the operand.
    """

    base: Register | None
    displacement: int
    relative: bool
    computed: bool
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A number in the instruction.

    Attributes:
        value: The number, signed; for jumps and calls, the address.
    """

    value: int


Operand: TypeAlias = Direct | MemoryOperand | Constant | None
"""None for a register that is not a general one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One instruction.

    Attributes:
        end: Address of the next instruction in memory.
        name: In Intel's notation, without prefixes.
        operands: The destination is first.
        written: Registers that it writes, named or not.
        vector: It has an operand in a vector register, such as `xmm0`.
    """

    address: int
    end: int
    name: str
    operands: tuple[Operand, ...]
    written: frozenset[Register]
    vector: bool

    @property
    def is_call(self) -> bool:
        """True if it calls a function, at a constant address or another."""
        return self.name in {"call", "lcall"}

    @property
    def called(self) -> int | None:
        """Address of the called function; None if it calls none, or the address is not constant."""
        return self._target if self.is_call else None

    @property
    def jumps_to(self) -> int | None:
        """Target of a jump, conditional or not; None if it does not jump, or the address is not constant."""
        return self._target if self.name.startswith(_JUMPS) else None

    @property
    def ends_block(self) -> bool:
        """True if the next instruction in memory is never run after it."""
        return self.name in _ENDS

    @property
    def _target(self) -> int | None:
        return next((each.value for each in self.operands if isinstance(each, Constant)), None)


def instructions(code: bytes, address: int) -> Iterator[Instruction]:
    """Yield the instructions of a function, in memory order, up to its end or to an invalid instruction.

    Args:
        code: Its bytes.
        address: Their address at run time.

    Raises:
        ToolMissing: capstone is not installed.
    """
    decoder, registers = _decoder()
    for found in decoder.disasm(code, address):
        operands = tuple(_operand(each, registers) for each in found.operands)
        written = (registers.get(each) for each in found.regs_access()[1])
        yield Instruction(
            address=found.address,
            end=found.address + found.size,
            name=found.insn_name(),
            operands=operands,
            written=frozenset(each.register for each in (*written, *operands) if isinstance(each, Direct)),
            vector=any(_is_vector(found, each) for each in found.operands),
        )


@cache
def _decoder() -> tuple[Any, dict[int, Direct]]:
    """Return capstone's decoder, and the meaning of its register numbers."""
    capstone = optional_package("capstone", "machine code cannot be read: the package capstone is missing")
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.detail = True
    names = {decoder.reg_name(number): number for number in range(1, 300) if decoder.reg_name(number)}
    return decoder, {names[name]: direct for name, direct in _parts() if name in names}


def _parts() -> Iterator[tuple[str, Direct]]:
    """Yield the names of all general registers and of their parts."""
    for register in Register:
        name = register.name.lower()
        old = name[1:]
        if register < Register.R8:
            low = f"{old[0]}l" if register < Register.RSP else f"{old}l"
            parts = {name: 8, f"e{old}": 4, old: 2, low: 1}
        else:
            parts = {name: 8, f"{name}d": 4, f"{name}w": 2, f"{name}b": 1}
        for part, size in parts.items():
            yield part, Direct(register=register, size=size)
        if register < Register.RSP:
            yield f"{old[0]}h", Direct(register=register, size=1, high=True)


def _operand(operand: Any, registers: dict[int, Direct]) -> Operand:  # noqa: ANN401  capstone has no types
    if operand.type == _CONSTANT:
        # Those of 4 bytes are signed in some instructions and not in others; the 1 of a shift by 1 has no size.
        bits = (operand.size or 8) * 8
        return Constant(value=(operand.imm + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1))
    if operand.type == _MEMORY:
        return _memory(operand, registers)
    return registers.get(operand.reg)


def _memory(operand: Any, registers: dict[int, Direct]) -> MemoryOperand:  # noqa: ANN401  capstone has no types
    place = operand.mem
    base = registers.get(place.base)
    relative = place.base == _number("rip")
    whole = not place.base or relative or (base is not None and base.size == 8)
    return MemoryOperand(
        base=base.register if base else None,
        displacement=place.disp,
        relative=relative,
        computed=not whole or bool(place.index) or place.segment in {_number("fs"), _number("gs")},
        size=operand.size,
    )


@cache
def _number(name: str) -> int:
    decoder, _ = _decoder()
    return next(number for number in range(1, 300) if decoder.reg_name(number) == name)


def _is_vector(found: Any, operand: Any) -> bool:  # noqa: ANN401  capstone has no types
    return operand.type == _REGISTER and str(found.reg_name(operand.reg)).startswith(("xmm", "ymm", "zmm"))
