"""The cuDNN that TensorFlow was compiled against, and the accepted ones, read from `CudnnSupport::Init`.

The function was written in three ways, each recognized by its own marks; a function without them is not read:

- up to 1.7 it compares `cudnnGetVersion() / 100 * 100` with a constant: major and minor must be the same;
- from 1.8 to 2.14 it hands both versions to `IsSourceCompatibleWithCudnnLibrary`, which compares them;
- from 2.15 on that comparison is inlined: not this major, or a smaller minor, leads to one and the same message.

Source: the machine code of the wheels of 1.2.1 to 2.21.0, read for this, November 2026.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from elftools.elf.elffile import ELFFile

from envbuilder.catalog.cuda import CudnnRule
from envbuilder.curation.wheel_audit.code.binary import Binary, Function
from envbuilder.curation.wheel_audit.code.constant_propagation import walk
from envbuilder.curation.wheel_audit.code.cpu_state import CpuState
from envbuilder.curation.wheel_audit.code.instructions import (
    Constant,
    Direct,
    Instruction,
    MemoryOperand,
    Register,
    instructions,
)

_INIT = re.compile(rb"_ZN[0-9a-z_]{1,80}12CudnnSupport4InitEv")
_COMPATIBLE = re.compile(rb"_ZN[0-9a-z_]{1,80}34IsSourceCompatibleWithCudnnLibrary[0-9A-Za-z_]{1,80}")

_A_25TH = 0x28F5C28F5C28F5C3
"""Compilers multiply by this to divide 64 bits by 100: the reciprocal of 25, after a shift by 2."""

_MAJORS, _MINORS, _PATCHES = range(4, 100), range(100), range(1000)
_NUMBERED_BY_THOUSANDS = range(4000, 9000)
"""`CUDNN_VERSION` before cuDNN 9: 1000 x major + 100 x minor + patch."""

_SETS_ON_ORDER = frozenset({"setb", "setae", "setbe", "seta", "setl", "setge", "setle", "setg"})
_SETS_ON_EQUALITY = frozenset({"sete", "setne"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CudnnReading:
    """The cuDNN side of a library.

    Attributes:
        compiled: Release that it was compiled against: `8.0.4`, or `8.6` when the patch level is not in the code.
        rule: The rule for accepted versions at run time.
    """

    compiled: str
    rule: CudnnRule


def cudnn_reading(elf: ELFFile) -> CudnnReading | None:
    """Read the cuDNN that a library was compiled against.

    Args:
        elf: `libtensorflow_framework.so*`, or another library that may contain `CudnnSupport::Init`.

    Returns:
        Shape: None if the library has no such function, or in an unknown form.
    """
    binary = Binary(elf)
    for function in binary.functions(_INIT):
        listing = tuple(instructions(binary.code(function), function.address))
        return _by_hundreds(listing) or _by_function(binary, function) or _inlined(binary, function, listing)
    return None


def _by_hundreds(listing: tuple[Instruction, ...]) -> CudnnReading | None:
    """Read `loaded / 100 * 100 == compiled / 100 * 100`, with `compiled` itself in the error message."""
    constants = {constant for step in listing if (constant := _loaded(step)) is not None}
    if _A_25TH not in constants:
        return None
    kept = {_compared_for_equality(*pair) for pair in pairwise(listing)} - {None}
    named = {each for each in constants if each in _NUMBERED_BY_THOUSANDS and each // 100 * 100 in kept}
    exact = named - kept or named
    if len(kept) != 1 or len(exact) != 1:
        return None
    (version,) = exact
    return CudnnReading(compiled=f"{version // 1000}.{version // 100 % 10}.{version % 100}", rule=CudnnRule.EXACT_MINOR)


def _compared_for_equality(step: Instruction, after: Instruction) -> int | None:
    """Return the version without patch level that is compared; None for another operation."""
    constant = _compared(step)
    if constant not in _NUMBERED_BY_THOUSANDS or after.name not in {"je", "jne"}:
        return None
    return constant if constant is not None and constant % 100 == 0 else None


def _by_function(binary: Binary, init: Function) -> CudnnReading | None:
    """Read `IsSourceCompatibleWithCudnnLibrary(compiled, loaded)`: two structures of three int, in registers."""
    comparing = binary.functions(_COMPATIBLE)
    if len(comparing) != 1:
        return None
    (function,) = comparing
    for step, state in walk(binary.code(init), init.address):
        called = step.called
        if called is not None and (called == function.address or binary.imported(called) == function.name):
            version = _argument(state)
            rule = version and _rule(binary, function, version[0])
            return CudnnReading(compiled=".".join(map(str, version)), rule=rule) if version and rule else None
    return None


def _argument(state: CpuState) -> tuple[int, int, int] | None:
    pair, patch = state.register(Register.RDI).number, state.register(Register.RSI).number
    if pair is None or patch is None:
        return None
    return _version(pair & 0xFFFFFFFF, pair >> 32, patch & 0xFFFFFFFF)


def _rule(binary: Binary, function: Function, major: int) -> CudnnRule | None:
    """Return the rule of a function with two versions, from its last comparison.

    It compares the major, then the order of the minors; older ones require the same minor up to a certain major.
    """
    code = tuple(instructions(binary.code(function), function.address))
    names = {step.name for step in code}
    exact_up_to = max((constant for step in code if (constant := _compared(step)) is not None), default=0)
    if names & _SETS_ON_ORDER:
        return CudnnRule.EXACT_MINOR if major <= exact_up_to else CudnnRule.SAME_MAJOR_AT_LEAST
    return CudnnRule.EXACT_MINOR if names & _SETS_ON_EQUALITY else None


def _inlined(binary: Binary, init: Function, listing: tuple[Instruction, ...]) -> CudnnReading | None:
    """Read `major != 9` and `minor <= 2`, which jump to one place."""
    fours = zip(listing, listing[1:], listing[2:], listing[3:], strict=False)
    found = {bounds for four in fours if (bounds := _bounds(*four)) is not None}
    if len(found) != 1:
        return None
    ((major, minor, rule),) = found
    patch = _patch(binary, init, (major, minor))
    return CudnnReading(compiled=f"{major}.{minor}" if patch is None else f"{major}.{minor}.{patch}", rule=rule)


def _bounds(
    first: Instruction, jump: Instruction, second: Instruction, leap: Instruction
) -> tuple[int, int, CudnnRule] | None:
    """Return the major, the smallest minor and the rule of two comparisons with one target; None for others."""
    major, minor = _compared(first), _smallest(second, leap)
    if major is None or major not in _MAJORS or minor is None:
        return None
    one_way_out = jump.name == "jne" and jump.jumps_to == leap.jumps_to
    return (major, *minor) if one_way_out else None


def _smallest(step: Instruction, jump: Instruction) -> tuple[int, CudnnRule] | None:
    """Return the smallest minor that does not jump, and the rule for larger ones; None if unknown."""
    limit = _compared(step)
    if limit is None or limit not in _MINORS:
        return None
    if jump.name in {"jbe", "jle"}:
        return limit + 1, CudnnRule.SAME_MAJOR_AT_LEAST
    if jump.name in {"jb", "jl"}:
        return limit, CudnnRule.SAME_MAJOR_AT_LEAST
    return (limit, CudnnRule.EXACT_MINOR) if jump.name == "jne" else None


def _patch(binary: Binary, init: Function, known: tuple[int, int]) -> int | None:
    """Return the patch level from the error message, which contains the whole version; None if it is not there.

    The version is in the file as three int that the code points to, or its numbers are passed one by one to the
    function that formats a number.
    """
    seen = {*_pointed(binary, init, known), *_spelled(binary, init, known)}
    return seen.pop() if len(seen) == 1 else None


def _pointed(binary: Binary, init: Function, known: tuple[int, int]) -> Iterator[int]:
    for step in instructions(binary.code(init), init.address):
        place = step.operands[1] if step.name == "lea" else None
        if isinstance(place, MemoryOperand) and place.relative:
            numbers = binary.read(step.end + place.displacement, 12)
            major, minor, patch = struct.unpack("<3i", numbers) if len(numbers) == 12 else (0, 0, 0)
            if (major, minor) == known and patch in _PATCHES:
                yield patch


def _spelled(binary: Binary, init: Function, known: tuple[int, int]) -> Iterator[int]:
    given: list[tuple[int, int | None]] = [
        (step.called, state.register(Register.RDI).number)
        for step, state in walk(binary.code(init), init.address)
        if step.called is not None
    ]
    for (function, major), (second, minor), (third, patch) in zip(given, given[1:], given[2:], strict=False):
        if function == second == third and (major, minor) == known and patch in _PATCHES:
            yield patch or 0


def _version(major: int, minor: int, patch: int) -> tuple[int, int, int] | None:
    plausible = major in _MAJORS and minor in _MINORS and patch in _PATCHES
    return (major, minor, patch) if plausible else None


def _loaded(step: Instruction) -> int | None:
    """Return the constant that is moved to a register; None for other instructions."""
    if step.name not in {"mov", "movabs"}:
        return None
    register, constant = step.operands
    return constant.value if isinstance(register, Direct) and isinstance(constant, Constant) else None


def _compared(step: Instruction) -> int | None:
    """Return the constant of a `cmp` of more than one byte; None for other instructions."""
    if step.name != "cmp":
        return None
    compared, constant = step.operands
    wide = isinstance(compared, Direct | MemoryOperand) and compared.size > 1
    return constant.value if wide and isinstance(constant, Constant) else None
