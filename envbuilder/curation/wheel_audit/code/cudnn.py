"""Which cuDNN TensorFlow was compiled against, and which ones it accepts, read from `CudnnSupport::Init`.

The function was written in three ways, and each is read from its own marks; a function without them is not read:

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
from envbuilder.curation.wheel_audit.code.decoding import Instruction, instructions
from envbuilder.curation.wheel_audit.code.following import walk
from envbuilder.curation.wheel_audit.code.image import Function, Image
from envbuilder.curation.wheel_audit.code.machine import Machine, Register
from envbuilder.curation.wheel_audit.code.opcodes import Space

_INIT = re.compile(rb"_ZN[0-9a-z_]{1,80}12CudnnSupport4InitEv")
_COMPATIBLE = re.compile(rb"_ZN[0-9a-z_]{1,80}34IsSourceCompatibleWithCudnnLibrary[0-9A-Za-z_]{1,80}")

_A_25TH = 0x28F5C28F5C28F5C3
"""What compilers multiply with to divide 64 bits by 100: the reciprocal of 25, behind a shift by 2."""

_MAJORS, _MINORS, _PATCHES = range(4, 100), range(100), range(1000)
_NUMBERED_BY_THOUSANDS = range(4000, 9000)
"""`CUDNN_VERSION` before cuDNN 9: 1000 x major + 100 x minor + patch."""

_EQUAL, _NOT_EQUAL = 0x84, 0x85
_BELOW, _BELOW_OR_EQUAL, _LESS, _LESS_OR_EQUAL = 0x82, 0x86, 0x8C, 0x8E
_SETS_ON_ORDER = frozenset({0x92, 0x93, 0x96, 0x97, *range(0x9C, 0xA0)})
_SETS_ON_EQUALITY = frozenset({0x94, 0x95})


@dataclass(frozen=True, slots=True, kw_only=True)
class CudnnReading:
    """The cuDNN side of a library.

    Attributes:
        compiled: Release that it was compiled against: `8.0.4`, or `8.6` when the patch level is not in the code.
        rule: What it accepts at run time.
    """

    compiled: str
    rule: CudnnRule


def cudnn_reading(elf: ELFFile) -> CudnnReading | None:
    """Read the cuDNN that a library was compiled against.

    Args:
        elf: `libtensorflow_framework.so*`, or another library that may hold `CudnnSupport::Init`.

    Returns:
        Shape: None when the library has no such function, or it is written in a way that is not known here.
    """
    image = Image(elf)
    for function in image.functions(_INIT):
        listing = tuple(instructions(image.code(function), function.address))
        return _by_hundreds(listing) or _by_function(image, function) or _inlined(image, function, listing)
    return None


def _by_hundreds(listing: tuple[Instruction, ...]) -> CudnnReading | None:
    """`loaded / 100 * 100 == compiled / 100 * 100`, with `compiled` itself in the message when it is not so."""
    constants = {step.constant for step in listing if _loads_constant(step)}
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
    """The version without patch level that is compared; None when something else is done."""
    constant = _compared(step)
    if constant not in _NUMBERED_BY_THOUSANDS or _condition(after) not in {_EQUAL, _NOT_EQUAL}:
        return None
    return constant if constant is not None and constant % 100 == 0 else None


def _by_function(image: Image, init: Function) -> CudnnReading | None:
    """`IsSourceCompatibleWithCudnnLibrary(compiled, loaded)`: two structures of three int, in registers."""
    comparing = image.functions(_COMPATIBLE)
    if len(comparing) != 1:
        return None
    (function,) = comparing
    for step, machine in walk(image.code(init), init.address):
        called = step.called
        if called is not None and (called == function.address or image.imported(called) == function.name):
            version = _argument(machine)
            rule = version and _rule(image, function, version[0])
            return CudnnReading(compiled=".".join(map(str, version)), rule=rule) if version and rule else None
    return None


def _argument(machine: Machine) -> tuple[int, int, int] | None:
    pair, patch = machine.register(Register.RDI).number, machine.register(Register.RSI).number
    if pair is None or patch is None:
        return None
    return _version(pair & 0xFFFFFFFF, pair >> 32, patch & 0xFFFFFFFF)


def _rule(image: Image, function: Function, major: int) -> CudnnRule | None:
    """What a function with two versions answers, by its last comparison.

    It asks for the same major, then for an order of the minors; older ones for the same minor up to a certain major.
    """
    code = tuple(instructions(image.code(function), function.address))
    sets = {step.opcode for step in code if step.space is Space.TWO_BYTE}
    exact_up_to = max((constant for step in code if (constant := _compared(step)) is not None), default=0)
    if sets & _SETS_ON_ORDER:
        return CudnnRule.EXACT_MINOR if major <= exact_up_to else CudnnRule.SAME_MAJOR_AT_LEAST
    return CudnnRule.EXACT_MINOR if sets & _SETS_ON_EQUALITY else None


def _inlined(image: Image, init: Function, listing: tuple[Instruction, ...]) -> CudnnReading | None:
    """`major != 9` and `minor <= 2` jump to one place."""
    fours = zip(listing, listing[1:], listing[2:], listing[3:], strict=False)
    found = {bounds for four in fours if (bounds := _bounds(*four)) is not None}
    if len(found) != 1:
        return None
    ((major, minor, rule),) = found
    patch = _patch(image, init, (major, minor))
    return CudnnReading(compiled=f"{major}.{minor}" if patch is None else f"{major}.{minor}.{patch}", rule=rule)


def _bounds(
    first: Instruction, jump: Instruction, second: Instruction, leap: Instruction
) -> tuple[int, int, CudnnRule] | None:
    """The major, the smallest minor and the rule of two comparisons with one way out; None when they are others."""
    major, minor = _compared(first), _smallest(second, leap)
    if major is None or major not in _MAJORS or minor is None:
        return None
    one_way_out = _condition(jump) == _NOT_EQUAL and jump.jumps_to == leap.jumps_to
    return (major, *minor) if one_way_out else None


def _smallest(step: Instruction, jump: Instruction) -> tuple[int, CudnnRule] | None:
    """The smallest minor that does not jump away, and whether larger ones do not either."""
    limit, condition = _compared(step), _condition(jump)
    if limit is None or limit not in _MINORS:
        return None
    if condition in {_BELOW_OR_EQUAL, _LESS_OR_EQUAL}:
        return limit + 1, CudnnRule.SAME_MAJOR_AT_LEAST
    if condition in {_BELOW, _LESS}:
        return limit, CudnnRule.SAME_MAJOR_AT_LEAST
    return (limit, CudnnRule.EXACT_MINOR) if condition == _NOT_EQUAL else None


def _patch(image: Image, init: Function, known: tuple[int, int]) -> int | None:
    """The patch level out of the message about a wrong cuDNN, which names the whole version; None when it is not there.

    The version stands in the file as three int that the code points to, or its numbers are given one by one to the
    function that makes text of a number.
    """
    seen = {*_pointed(image, init, known), *_spelled(image, init, known)}
    return seen.pop() if len(seen) == 1 else None


def _pointed(image: Image, init: Function, known: tuple[int, int]) -> Iterator[int]:
    for step in instructions(image.code(init), init.address):
        if step.key == (Space.ONE_BYTE, 0x8D) and step.memory is not None and step.memory.relative:
            numbers = image.read(step.end + step.memory.displacement, 12)
            major, minor, patch = struct.unpack("<3i", numbers) if len(numbers) == 12 else (0, 0, 0)
            if (major, minor) == known and patch in _PATCHES:
                yield patch


def _spelled(image: Image, init: Function, known: tuple[int, int]) -> Iterator[int]:
    given: list[tuple[int, int | None]] = [
        (step.called, machine.register(Register.RDI).number)
        for step, machine in walk(image.code(init), init.address)
        if step.called is not None
    ]
    for (function, major), (second, minor), (third, patch) in zip(given, given[1:], given[2:], strict=False):
        if function == second == third and (major, minor) == known and patch in _PATCHES:
            yield patch or 0


def _version(major: int, minor: int, patch: int) -> tuple[int, int, int] | None:
    plausible = major in _MAJORS and minor in _MINORS and patch in _PATCHES
    return (major, minor, patch) if plausible else None


def _loads_constant(step: Instruction) -> bool:
    """`mov register, constant`."""
    return step.space is Space.ONE_BYTE and (
        0xB8 <= step.opcode < 0xC0 or (step.opcode == 0xC7 and step.direct is not None)
    )


def _compared(step: Instruction) -> int | None:
    """The constant of a `cmp`; None for other instructions."""
    if step.space is not Space.ONE_BYTE:
        return None
    grouped = step.opcode in {0x81, 0x83} and step.digit == 7
    return step.constant if grouped or step.opcode == 0x3D else None


def _condition(step: Instruction) -> int | None:
    """The condition of a jump, as the second byte of its long form; None for other instructions."""
    if step.space is Space.ONE_BYTE and 0x70 <= step.opcode < 0x80:
        return step.opcode + 0x10
    return step.opcode if step.space is Space.TWO_BYTE and 0x80 <= step.opcode < 0x90 else None
