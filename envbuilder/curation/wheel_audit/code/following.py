"""Follow constants through a function: what registers and the stack hold where it calls another.

Not an emulator: only instructions that move constants and addresses are understood, whatever any other writes is
forgotten, and wherever two ways through the function meet everything is. What is said to be known is known as far as
code follows the calling convention and does not write through a pointer that it made from another one's address.

Source: System V ABI for x86-64, section 3.2 (calling convention).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from envbuilder.curation.wheel_audit.code.decoding import (
    Constant,
    Direct,
    Instruction,
    Memory,
    Operand,
    Register,
    instructions,
)
from envbuilder.curation.wheel_audit.code.machine import Machine, Value

_FORGOTTEN_BY_CALL = 16
"""Bytes behind each address handed to a function that are taken to be written by it."""
_WIDEST = 64
"""Bytes of the widest store."""

_ARGUMENTS = (Register.RDI, Register.RSI, Register.RDX, Register.RCX, Register.R8, Register.R9)
_VOLATILE = (Register.RAX, *_ARGUMENTS, Register.R10, Register.R11)


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
    _EFFECTS.get(step.name, _nothing if step.jumps_to is not None else _other)(machine, step)


def _call(machine: Machine) -> None:
    for register in _ARGUMENTS:
        place = machine.register(register)
        if place.number is None:
            machine.store(place, _FORGOTTEN_BY_CALL, None)
    for register in _VOLATILE:
        machine.set(register, None)


def _value(machine: Machine, step: Instruction, operand: Operand) -> Value:
    """Return what an operand holds."""
    match operand:
        case Constant():
            return Value(0, operand.value)
        case Direct() if not operand.high:
            return machine.register(operand.register)
        case Memory():
            return machine.load(machine.address(operand, step.end), operand.size)
        case _:
            return machine.unknown()


def _put(machine: Machine, step: Instruction, operand: Operand, value: Value | None) -> None:
    """Write to a register or to memory; None writes something unknown."""
    match operand:
        case Direct():
            machine.set(operand.register, None if value is None or operand.high else _sized(value, operand.size))
        case Memory():
            machine.store(machine.address(operand, step.end), operand.size, value)
        case _:
            # A constant is no destination.
            pass


def _sized(value: Value, size: int) -> Value | None:
    """Return the value that a register has after a write of so many bytes; None when it cannot be told."""
    if size == 8:
        return value
    return Value(0, value.number & 0xFFFFFFFF) if size == 4 and value.number is not None else None


def _move(machine: Machine, step: Instruction) -> None:
    target, source = step.operands
    _put(machine, step, target, _value(machine, step, source))


def _load_address(machine: Machine, step: Instruction) -> None:
    target, source = step.operands
    _put(machine, step, target, machine.address(source, step.end) if isinstance(source, Memory) else None)


def _clear_if_same(machine: Machine, step: Instruction) -> None:
    """`xor eax, eax` and `sub eax, eax` give 0, whatever was there."""
    target, source = step.operands
    if target == source and isinstance(target, Direct) and target.size >= 4:
        machine.set(target.register, Value(0, 0))
    else:
        _add(machine, step)


def _add(machine: Machine, step: Instruction) -> None:
    """`add` and `sub` of a constant to a register."""
    target, source = step.operands
    if step.name in {"add", "sub"} and isinstance(target, Direct) and isinstance(source, Constant):
        distance = source.value if step.name == "add" else -source.value
        _put(machine, step, target, _value(machine, step, target).moved(distance))
    else:
        _other(machine, step)


def _push(machine: Machine, step: Instruction) -> None:
    value = _value(machine, step, step.operands[0])
    top = machine.register(Register.RSP).moved(-8)
    machine.store(top, 8, value)
    machine.set(Register.RSP, top)


def _pop(machine: Machine, step: Instruction) -> None:
    top = machine.register(Register.RSP)
    machine.set(Register.RSP, top.moved(8))
    _put(machine, step, step.operands[0], machine.load(top, 8))


def _fill(machine: Machine, step: Instruction) -> None:
    """String instructions write as much as RCX says; `movsd` is also one of vector registers."""
    if step.vector:
        _other(machine, step)
        return
    machine.clear_memory()
    for register in (Register.RCX, Register.RSI, Register.RDI, Register.RAX):
        machine.set(register, None)


def _nothing(_: Machine, __: Instruction) -> None:
    """Compares, jumps, or waits."""


def _forget(machine: Machine, _: Instruction) -> None:
    """Moves the stack in a way that is not followed, or calls the system."""
    machine.forget()


def _other(machine: Machine, step: Instruction) -> None:
    """Any other instruction may write all of its operands, whatever is written first."""
    for operand in step.operands:
        if isinstance(operand, Memory):
            machine.store(machine.address(operand, step.end), _WIDEST, None)
    for register in step.written:
        machine.set(register, None)


def _exchange(machine: Machine, step: Instruction) -> None:
    """Compare and exchange, which capstone does not say to write RAX."""
    _other(machine, step)
    machine.set(Register.RAX, None)


_EFFECTS: dict[str, Callable[[Machine, Instruction], None]] = {
    "mov": _move,
    "movabs": _move,
    "lea": _load_address,
    "add": _add,
    "sub": _clear_if_same,
    "xor": _clear_if_same,
    "push": _push,
    "pop": _pop,
    "cmpxchg": _exchange,
    **dict.fromkeys(("cmp", "test", "nop", "endbr64", "ret", "int3", "ud2"), _nothing),
    **dict.fromkeys((f"{name}s{size}" for name in ("mov", "sto", "lod") for size in "bwdq"), _fill),
    **dict.fromkeys(("enter", "leave", "pushfq", "popfq", "syscall"), _forget),
}
