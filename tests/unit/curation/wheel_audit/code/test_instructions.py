"""What of capstone's answers is used, and how."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.core.errors import ToolMissing
from envbuilder.curation.wheel_audit.code import instructions as module
from envbuilder.curation.wheel_audit.code.instructions import (
    Constant,
    Direct,
    Instruction,
    MemoryOperand,
    Register,
    instructions,
)


def decoded(code: str) -> Instruction:
    (step,) = instructions(bytes.fromhex(code), 0x1000)
    assert step.end == 0x1000 + len(code) // 2
    return step


@pytest.mark.parametrize(
    ("code", "operand"),
    [
        ("4C8975C8", MemoryOperand(base=Register.RBP, displacement=-0x38, relative=False, computed=False, size=8)),
        ("498D44D708", MemoryOperand(base=Register.R15, displacement=8, relative=False, computed=True, size=8)),
        ("488D05F0FFFFFF", MemoryOperand(base=None, displacement=-16, relative=True, computed=False, size=8)),
        ("64488B042528000000", MemoryOperand(base=None, displacement=0x28, relative=False, computed=True, size=8)),
        ("488B0425DC000000", MemoryOperand(base=None, displacement=0xDC, relative=False, computed=False, size=8)),
        ("678B07", MemoryOperand(base=Register.RDI, displacement=0, relative=False, computed=True, size=4)),
    ],
)
def test_operands_in_memory_are_told(code: str, operand: MemoryOperand) -> None:
    assert operand in decoded(code).operands


@pytest.mark.parametrize(
    ("code", "operands"),
    [
        ("4D89FE", (Direct(register=Register.R14, size=8), Direct(register=Register.R15, size=8))),
        ("4589F8", (Direct(register=Register.R8, size=4), Direct(register=Register.R15, size=4))),
        ("6689C7", (Direct(register=Register.RDI, size=2), Direct(register=Register.RAX, size=2))),
        ("4088F7", (Direct(register=Register.RDI, size=1), Direct(register=Register.RSI, size=1))),
        ("88E0", (Direct(register=Register.RAX, size=1), Direct(register=Register.RAX, size=1, high=True))),
        ("83FFFF", (Direct(register=Register.RDI, size=4), Constant(value=-1))),
        ("D1E0", (Direct(register=Register.RAX, size=4), Constant(value=1))),
        ("B8FFFFFFFF", (Direct(register=Register.RAX, size=4), Constant(value=-1))),
        ("48B80800000006000000", (Direct(register=Register.RAX, size=8), Constant(value=0x600000008))),
        ("0F28C1", (None, None)),
    ],
)
def test_registers_and_constants_are_told(code: str, operands: tuple[Direct | Constant | None, ...]) -> None:
    assert decoded(code).operands == operands


@pytest.mark.parametrize(
    ("code", "vector"), [("C4417828C1", True), ("F30F1045F8", True), ("C5F877", False), ("90", False)]
)
def test_vector_registers_are_told(code: str, vector: bool) -> None:
    assert decoded(code).vector is vector


def test_registers_that_are_written_without_a_name_are_told() -> None:
    assert decoded("0FA2").written == {Register.RAX, Register.RBX, Register.RCX, Register.RDX}


@pytest.mark.parametrize("code", ["F2FF2500000000", "FF2500000000"])
def test_names_have_no_prefix(code: str) -> None:
    assert decoded(code).name == "jmp"


@pytest.mark.parametrize(
    ("code", "target"),
    [("7405", 0x1007), ("EBFE", 0x1000), ("0F8500010000", 0x1106), ("E9FBFFFFFF", 0x1000), ("E310", 0x1012)],
)
def test_jumps_know_where_to(code: str, target: int) -> None:
    jump = decoded(code)

    assert (jump.jumps_to, jump.called, jump.is_call) == (target, None, False)


@pytest.mark.parametrize(("code", "target"), [("E8FBFFFFFF", 0x1000), ("FFD0", None), ("FF5010", None)])
def test_calls_know_whom(code: str, target: int | None) -> None:
    call = decoded(code)

    assert (call.is_call, call.called, call.jumps_to) == (True, target, None)


@pytest.mark.parametrize(
    ("code", "ends"),
    [("C3", True), ("EB00", True), ("E900000000", True), ("FFE0", True), ("0F0B", True), ("F4", True),
     ("7400", False), ("E800000000", False), ("FFD0", False), ("90", False), ("FF30", False)],
)  # fmt: skip
def test_blocks_end_where_nothing_goes_on(code: str, ends: bool) -> None:
    step = decoded(code)

    assert step.ends_block is ends


def test_a_missing_capstone_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "capstone", None)
    module._decoder.cache_clear()

    with pytest.raises(ToolMissing) as caught:
        next(instructions(b"\x90", 0))
    assert "capstone" in caught.value.hint


def test_a_walk_ends_before_what_is_no_instruction() -> None:
    assert [step.address for step in instructions(bytes.fromhex("55 4889E5 06 90"), 16)] == [16, 17]


@given(st.binary(max_size=400))
def test_any_bytes_are_cut_into_instructions_up_to_some_place(code: bytes) -> None:
    steps = list(instructions(code, 0x1000))

    assert all(1 <= step.end - step.address <= 15 for step in steps)
    assert [step.address for step in steps[1:]] == [step.end for step in steps[:-1]]
    assert not steps or steps[-1].end <= 0x1000 + len(code)
