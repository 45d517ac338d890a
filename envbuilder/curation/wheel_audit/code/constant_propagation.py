"""Constant propagation through a function: the content of registers and the stack at each call.

Not an emulator: only instructions that move constants and addresses are interpreted, results of any other are
unknown, and everything is unknown where two paths through the function meet. Known values are correct if the
code follows the calling convention and does not write through a pointer derived from another one's address.

Source: System V ABI for x86-64, section 3.2 (calling convention), https://gitlab.com/x86-psABIs/x86-64-ABI
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from envbuilder.curation.wheel_audit.code.cpu_state import CpuState, Value
from envbuilder.curation.wheel_audit.code.instructions import (
    Constant,
    Direct,
    Instruction,
    MemoryOperand,
    Operand,
    Register,
    instructions,
)

_FORGOTTEN_BY_CALL = 16
"""Bytes behind each address passed to a function that count as overwritten by it."""
_WIDEST = 64
"""Bytes of the widest store."""

_ARGUMENTS = (Register.RDI, Register.RSI, Register.RDX, Register.RCX, Register.R8, Register.R9)
_VOLATILE = (Register.RAX, *_ARGUMENTS, Register.R10, Register.R11)


def walk(code: bytes, address: int) -> Iterator[tuple[Instruction, CpuState]]:
    """Iterate over a function in memory order, with the known values before each instruction.

    The state is one and the same object and changes with the next step: ask it at once.
    """
    listing = tuple(instructions(code, address))
    joins = {step.jumps_to for step in listing}
    state, reached = CpuState(), True
    for step in listing:
        if not reached or step.address in joins:
            state.forget()
        yield step, state
        _run(state, step)
        reached = not step.ends_block


def _run(state: CpuState, step: Instruction) -> None:
    """Apply one instruction."""
    if step.is_call:
        _call(state)
        return
    _EFFECTS.get(step.name, _nothing if step.jumps_to is not None else _other)(state, step)


def _call(state: CpuState) -> None:
    for register in _ARGUMENTS:
        place = state.register(register)
        if place.number is None:
            state.store(place, _FORGOTTEN_BY_CALL, None)
    for register in _VOLATILE:
        state.set(register, None)


def _value(state: CpuState, step: Instruction, operand: Operand) -> Value:
    """Return the value of an operand."""
    match operand:
        case Constant():
            return Value(0, operand.value)
        case Direct() if not operand.high:
            return state.register(operand.register)
        case MemoryOperand():
            return state.load(state.address(operand, step.end), operand.size)
        case _:
            return state.unknown()


def _put(state: CpuState, step: Instruction, operand: Operand, value: Value | None) -> None:
    """Write to a register or to memory; None writes something unknown."""
    match operand:
        case Direct():
            state.set(operand.register, None if value is None or operand.high else _sized(value, operand.size))
        case MemoryOperand():
            state.store(state.address(operand, step.end), operand.size, value)
        case _:
            # A constant is no destination.
            pass


def _sized(value: Value, size: int) -> Value | None:
    """Return the value that a register has after a write of so many bytes; None if unknown."""
    if size == 8:
        return value
    return Value(0, value.number & 0xFFFFFFFF) if size == 4 and value.number is not None else None


def _move(state: CpuState, step: Instruction) -> None:
    target, source = step.operands
    _put(state, step, target, _value(state, step, source))


def _load_address(state: CpuState, step: Instruction) -> None:
    target, source = step.operands
    _put(state, step, target, state.address(source, step.end) if isinstance(source, MemoryOperand) else None)


def _clear_if_same(state: CpuState, step: Instruction) -> None:
    """Apply `xor eax, eax` and `sub eax, eax`, which give 0."""
    target, source = step.operands
    if target == source and isinstance(target, Direct) and target.size >= 4:
        state.set(target.register, Value(0, 0))
    else:
        _add(state, step)


def _add(state: CpuState, step: Instruction) -> None:
    """Apply `add` and `sub` of a constant to a register."""
    target, source = step.operands
    if step.name in {"add", "sub"} and isinstance(target, Direct) and isinstance(source, Constant):
        distance = source.value if step.name == "add" else -source.value
        _put(state, step, target, _value(state, step, target).moved(distance))
    else:
        _other(state, step)


def _push(state: CpuState, step: Instruction) -> None:
    value = _value(state, step, step.operands[0])
    top = state.register(Register.RSP).moved(-8)
    state.store(top, 8, value)
    state.set(Register.RSP, top)


def _pop(state: CpuState, step: Instruction) -> None:
    top = state.register(Register.RSP)
    state.set(Register.RSP, top.moved(8))
    _put(state, step, step.operands[0], state.load(top, 8))


def _fill(state: CpuState, step: Instruction) -> None:
    """Apply string instructions, which write as many items as RCX says; `movsd` is also one of vector registers."""
    if step.vector:
        _other(state, step)
        return
    state.clear_memory()
    for register in (Register.RCX, Register.RSI, Register.RDI, Register.RAX):
        state.set(register, None)


def _nothing(_: CpuState, __: Instruction) -> None:
    """Ignore a comparison, a jump or a wait."""


def _forget(state: CpuState, _: Instruction) -> None:
    """Forget everything: the stack moves in an unknown way, or the system is called."""
    state.forget()


def _other(state: CpuState, step: Instruction) -> None:
    """Apply any other instruction, which may write all of its operands."""
    for operand in step.operands:
        if isinstance(operand, MemoryOperand):
            state.store(state.address(operand, step.end), _WIDEST, None)
    for register in step.written:
        state.set(register, None)


def _exchange(state: CpuState, step: Instruction) -> None:
    """Apply compare and exchange, which writes RAX although capstone does not report it."""
    _other(state, step)
    state.set(Register.RAX, None)


_EFFECTS: dict[str, Callable[[CpuState, Instruction], None]] = {
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
