"""Follow constants through a function: what registers and the stack hold where it calls another.

Not an emulator: only instructions that move constants and addresses are understood, whatever any other writes is
forgotten, and wherever two ways through the function meet everything is. What is said to be known is known as far as
code follows the calling convention and does not write through a pointer that it made from another one's address.

Source: System V ABI for x86-64, section 3.2 (calling convention).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from envbuilder.curation.wheel_audit.code.decoding import Encoding, Instruction, instructions
from envbuilder.curation.wheel_audit.code.machine import Machine, Register, Value
from envbuilder.curation.wheel_audit.code.opcodes import Space

_FORGOTTEN_BY_CALL = 16
"""Bytes behind each address handed to a function that are taken to be written by it."""
_WIDEST = 64
"""Bytes of the widest store."""

_ARGUMENTS = (Register.RDI, Register.RSI, Register.RDX, Register.RCX, 8, 9)
_VOLATILE = (Register.RAX, Register.RCX, Register.RDX, Register.RSI, Register.RDI, 8, 9, 10, 11)
_KEPT = frozenset({Register.RSP, Register.RBP})


def walk(code: bytes, address: int) -> Iterator[tuple[Instruction, Machine]]:
    """Go through a function in memory order, with what is known before each instruction.

    The machine is one and the same and changes with the next step: ask it at once.

    Args:
        code: The function.
        address: Where it lies at run time.
    """
    listing = tuple(instructions(code, address))
    joins = {step.jumps_to for step in listing}
    machine, reached = Machine(), True
    for step in listing:
        if not reached or step.address in joins:
            machine.forget()
        yield step, machine
        _run(machine, step)
        reached = not step.ends_block


def _run(machine: Machine, step: Instruction) -> None:
    """Take one instruction into account."""
    if step.is_call:
        _call(machine)
        return
    effect = _EFFECTS.get(step.key) if step.encoding is Encoding.LEGACY else None
    (effect or _other)(machine, step)


def _call(machine: Machine) -> None:
    for register in _ARGUMENTS:
        place = machine.register(register)
        if place.number is None:
            machine.store(place, _FORGOTTEN_BY_CALL, None)
    for register in _VOLATILE:
        machine.set(register, None)


def _target(machine: Machine, step: Instruction) -> Value:
    """Address of the memory operand; something unknown when there is none."""
    return machine.unknown() if step.memory is None else machine.address(step.memory, step.end)


def _sized(value: Value, size: int) -> Value | None:
    """The value that a register has after a write of so many bytes; None when it cannot be told."""
    if size == 8:
        return value
    return Value(0, value.number & 0xFFFFFFFF) if size == 4 and value.number is not None else None


def _put(machine: Machine, step: Instruction, value: Value | None) -> None:
    """Write to the operand that is a register or in memory."""
    if step.direct is not None:
        machine.set(step.direct, None if value is None else _sized(value, step.size))
    else:
        machine.store(_target(machine, step), step.size, value)


def _store_register(machine: Machine, step: Instruction) -> None:
    high_byte = step.size == 1 and not step.rex and step.register >= 4
    _put(machine, step, None if high_byte else machine.register(step.register))


def _load(machine: Machine, step: Instruction) -> None:
    if step.direct is not None:
        value = machine.register(step.direct)
    else:
        value = machine.load(_target(machine, step), step.size)
    machine.set(step.register, _sized(value, step.size))


def _load_address(machine: Machine, step: Instruction) -> None:
    machine.set(step.register, _sized(_target(machine, step), step.size))


def _set_constant(machine: Machine, step: Instruction) -> None:
    value = step.constant if step.size == 8 else step.constant & 0xFFFFFFFF
    machine.set(step.register, _sized(Value(0, value), step.size))


def _put_constant(machine: Machine, step: Instruction) -> None:
    _put(machine, step, Value(0, step.constant))


def _clear_if_same(machine: Machine, step: Instruction) -> None:
    """`xor eax, eax` and `sub eax, eax` give 0, whatever was there; else the written operand is forgotten."""
    if step.direct == step.register and step.size >= 4:
        machine.set(step.register, Value(0, 0))
    else:
        _other(machine, step)


def _calculate(machine: Machine, step: Instruction) -> None:
    """`add`, `sub` and `cmp` with a constant; the rest of that group is forgotten."""
    if step.digit == 7:
        return
    sign = {0: 1, 5: -1}.get(step.digit)
    if sign is None or step.direct is None:
        _put(machine, step, None)
        return
    _put(machine, step, machine.register(step.direct).moved(sign * step.constant))


def _push(machine: Machine, step: Instruction) -> None:
    top = machine.register(Register.RSP).moved(-8)
    machine.store(top, 8, machine.register(step.register))
    machine.set(Register.RSP, top)


def _pop(machine: Machine, step: Instruction) -> None:
    top = machine.register(Register.RSP)
    machine.set(Register.RSP, top.moved(8))
    machine.set(step.register, machine.load(top, 8))


def _push_unknown(machine: Machine, _: Instruction) -> None:
    top = machine.register(Register.RSP).moved(-8)
    machine.store(top, 8, None)
    machine.set(Register.RSP, top)


def _fill(machine: Machine, _: Instruction) -> None:
    """String instructions write as much as RCX says."""
    machine.clear_memory()
    for register in (Register.RCX, Register.RSI, Register.RDI, Register.RAX):
        machine.set(register, None)


def _negate_or_multiply(machine: Machine, step: Instruction) -> None:
    """`test` writes nothing, `not` and `neg` their operand, `mul` and `div` RAX and RDX."""
    if step.digit in {2, 3}:
        _put(machine, step, None)
    elif step.digit > 3:
        machine.set(Register.RAX, None)
        machine.set(Register.RDX, None)


def _increase(machine: Machine, step: Instruction) -> None:
    if step.digit == 6:
        _push_unknown(machine, step)
    elif step.digit < 2:
        _put(machine, step, None)


def _nothing(_: Machine, __: Instruction) -> None:
    """Compares, jumps, or waits."""


def _forget(machine: Machine, _: Instruction) -> None:
    """Moves the stack in a way that is not followed."""
    machine.forget()


def _other(machine: Machine, step: Instruction) -> None:
    """Any other instruction may write both operands, and some of them any register but the frame's."""
    if step.memory is not None:
        machine.store(machine.address(step.memory, step.end), _WIDEST, None)
    if _writes_more(step):
        written = set(range(16)) - _KEPT
    else:
        written = {step.register} if step.direct is None else {step.register, step.direct}
    for register in written:
        machine.set(register, None)


def _writes_more(step: Instruction) -> bool:
    """Whether it writes registers that it does not name, or names outside ModRM."""
    unnamed = step.memory is None and step.direct is None
    return unnamed or step.key in _UNNAMED or (step.encoding is Encoding.VEX and step.space is Space.X38)


_UNNAMED = frozenset({(Space.TWO_BYTE, 0xB0), (Space.TWO_BYTE, 0xB1), (Space.TWO_BYTE, 0xC7)})
"""Compare and exchange."""


def _table() -> dict[tuple[Space, int], Callable[[Machine, Instruction], None]]:
    one, two = Space.ONE_BYTE, Space.TWO_BYTE
    effects: dict[tuple[Space, int], Callable[[Machine, Instruction], None]] = {
        (one, 0x88): _store_register, (one, 0x89): _store_register, (one, 0x8A): _load, (one, 0x8B): _load,
        (one, 0x8D): _load_address, (one, 0xC6): _put_constant, (one, 0xC7): _put_constant,
        (one, 0x31): _clear_if_same, (one, 0x33): _clear_if_same, (one, 0x29): _clear_if_same,
        (one, 0x2B): _clear_if_same, (one, 0x81): _calculate, (one, 0x83): _calculate, (one, 0x80): _calculate,
        (one, 0x68): _push_unknown, (one, 0x6A): _push_unknown, (one, 0xF6): _negate_or_multiply,
        (one, 0xF7): _negate_or_multiply, (one, 0xFE): _increase, (one, 0xFF): _increase,
    }  # fmt: skip
    effects |= {(one, opcode): _set_constant for opcode in range(0xB8, 0xC0)}
    effects |= {(one, opcode): _push for opcode in range(0x50, 0x58)}
    effects |= {(one, opcode): _pop for opcode in range(0x58, 0x60)}
    effects |= {(one, opcode): _fill for opcode in (*range(0xA4, 0xA8), *range(0xAA, 0xB0))}
    effects |= {(one, opcode): _forget for opcode in (0x8F, 0x9C, 0x9D, 0xC8, 0xC9)}
    silent = (*range(0x38, 0x3E), *range(0x70, 0x80), 0x84, 0x85, 0x90, 0xA8, 0xA9, 0xC2, 0xC3, 0xCC, 0xE9, 0xEB)
    effects |= {(one, opcode): _nothing for opcode in silent}
    effects |= {(two, opcode): _nothing for opcode in (0x0B, 0x18, 0x1E, 0x1F, *range(0x80, 0x90))}
    return effects


_EFFECTS = _table()
