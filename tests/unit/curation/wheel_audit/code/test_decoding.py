from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.curation.wheel_audit.code.decoding import Encoding, Memory, decode, instructions
from envbuilder.curation.wheel_audit.code.opcodes import Space

LENGTHS = {
    "55": "push rbp",
    "4155": "push r13",
    "90": "nop",
    "660F1F840000000000": "nop WORD PTR [rax+rax*1+0x0]",
    "F30F1EFA": "endbr64",
    "4889E5": "mov rbp,rsp",
    "488B4518": "mov rax,QWORD PTR [rbp+0x18]",
    "488B0425DC000000": "mov rax,QWORD PTR ds:0xdc",
    "64488B042528000000": "mov rax,QWORD PTR fs:0x28",
    "488D05D2F72000": "lea rax,[rip+0x20f7d2]",
    "498D44D708": "lea rax,[r15+rdx*8+0x8]",
    "C744241000000000": "mov DWORD PTR [rsp+0x10],0x0",
    "48C745D00A000000": "mov QWORD PTR [rbp-0x30],0xa",
    "66C745DC6900": "mov WORD PTR [rbp-0x24],0x69",
    "C645E000": "mov BYTE PTR [rbp-0x20],0x0",
    "48B80800000006000000": "movabs rax,0x600000008",
    "B838000000": "mov eax,0x38",
    "66B83800": "mov ax,0x38",
    "B005": "mov al,0x5",
    "A00102030405060708": "movabs al,ds:0x807060504030201",
    "4881FF70170000": "cmp rdi,0x1770",
    "6681FF7017": "cmp di,0x1770",
    "3D70170000": "cmp eax,0x1770",
    "83FF09": "cmp edi,0x9",
    "F6C301": "test bl,0x1",
    "F7C300010000": "test ebx,0x100",
    "66F7C30001": "test bx,0x100",
    "F7E2": "mul edx",
    "48F7D8": "neg rax",
    "69C0E8030000": "imul eax,eax,0x3e8",
    "6BC00A": "imul eax,eax,0xa",
    "C8100000": "enter 0x10,0x0",
    "C20800": "ret 0x8",
    "C3": "ret",
    "7405": "je +5",
    "0F8500010000": "jne +0x100",
    "E800000000": "call +0",
    "66E800000000": "data16 call +0",
    "FF2500000000": "jmp QWORD PTR [rip+0x0]",
    "F0480FC11500000000": "lock xadd QWORD PTR [rip+0x0],rdx",
    "0FB6C0": "movzx eax,al",
    "0F94C0": "sete al",
    "0FA2": "cpuid",
    "0F0B": "ud2",
    "0FC8": "bswap eax",
    "0FBAE005": "bt eax,0x5",
    "F30F1045F8": "movss xmm0,DWORD PTR [rbp-0x8]",
    "0F2845F0": "movaps xmm0,XMMWORD PTR [rbp-0x10]",
    "660F6F05FCFF0000": "movdqa xmm0,XMMWORD PTR [rip+0xfffc]",
    "660F70C0EE": "pshufd xmm0,xmm0,0xee",
    "660FC6C001": "shufpd xmm0,xmm0,0x1",
    "660F380000": "pshufb xmm0,XMMWORD PTR [rax]",
    "660F3A0FC108": "palignr xmm0,xmm1,0x8",
    "C5FA1045F8": "vmovss xmm0,DWORD PTR [rbp-0x8]",
    "C4C17828042C": "vmovaps xmm0,XMMWORD PTR [r12+rbp*1]",
    "C5F877": "vzeroupper",
    "C5F970C0EE": "vpshufd xmm0,xmm0,0xee",
    "C4E279180500000000": "vbroadcastss xmm0,DWORD PTR [rip+0x0]",
    "C4E37D19C101": "vextractf128 xmm1,ymm0,0x1",
    "62F17C481000": "vmovups zmm0,ZMMWORD PTR [rax]",
    "62F37D483BC101": "vextracti32x8 ymm1,zmm0,0x1",
    "62F57C48584008": "vaddph zmm0,zmm0,ZMMWORD PTR [rax+0x200]",
}
"""Bytes and what GNU objdump makes of them."""


@pytest.mark.parametrize("code", LENGTHS, ids=LENGTHS.values())
def test_an_instruction_ends_where_objdump_ends_it(code: str) -> None:
    found = decode(bytes.fromhex(code) + b"\xcc" * 15, 0, 0x1000)

    assert found is not None
    assert found.length == len(code) // 2


@pytest.mark.parametrize("code", LENGTHS, ids=LENGTHS.values())
def test_a_cut_instruction_is_none(code: str) -> None:
    whole = bytes.fromhex(code)

    assert all((found := decode(whole[:size], 0, 0)) is None or found.length <= size for size in range(len(whole)))
    assert decode(whole[:-1], 0, 0) is None or whole[0] in {0x66, 0xF3, 0xF0}


@pytest.mark.parametrize(
    "code", ["06", "0F04", "0F3800"[:4], "60", "82C000", "C4E4790000", "62F47C481000", "66" * 16 + "90"]
)
def test_what_is_no_instruction_is_none(code: str) -> None:
    assert decode(bytes.fromhex(code), 0, 0) is None


def test_an_instruction_has_at_most_15_bytes() -> None:
    assert decode(bytes.fromhex("66" * 14 + "90"), 0, 0) is not None
    assert decode(bytes.fromhex("66" * 15 + "90"), 0, 0) is None


def test_operands_are_told() -> None:
    store = decode(bytes.fromhex("4C8975C8"), 0, 0x100)  # mov QWORD PTR [rbp-0x38],r14

    assert store is not None
    assert (store.space, store.opcode, store.encoding, store.size) == (Space.ONE_BYTE, 0x89, Encoding.LEGACY, 8)
    assert (store.register, store.digit, store.direct) == (14, 6, None)
    assert store.memory == Memory(base=5, index=None, displacement=-0x38)


def test_a_register_operand_is_told() -> None:
    move = decode(bytes.fromhex("4D89FE"), 0, 0)  # mov r14,r15

    assert move is not None
    assert (move.register, move.direct, move.memory) == (15, 14, None)


def test_scaled_addresses_are_told() -> None:
    load = decode(bytes.fromhex("498D44D708"), 0, 0)
    without_base = decode(bytes.fromhex("488D04D500010000"), 0, 0)

    assert load is not None
    assert load.memory == Memory(base=15, index=2, displacement=8)
    assert without_base is not None
    assert without_base.memory == Memory(base=None, index=2, displacement=0x100)


def test_addresses_relative_to_the_instruction_and_of_threads_are_told() -> None:
    relative = decode(bytes.fromhex("488D05F0FFFFFF"), 0, 0)
    thread = decode(bytes.fromhex("64488B042528000000"), 0, 0)

    assert relative is not None
    assert relative.memory == Memory(base=None, index=None, displacement=-16, relative=True)
    assert thread is not None
    assert thread.memory == Memory(base=None, index=None, displacement=0x28, thread=True)


def test_registers_of_avx_instructions_are_told() -> None:
    move = decode(bytes.fromhex("C4417828C1"), 0, 0)  # vmovaps xmm8,xmm9

    assert move is not None
    assert (move.encoding, move.space, move.opcode) == (Encoding.VEX, Space.TWO_BYTE, 0x28)
    assert (move.register, move.direct) == (8, 9)


@pytest.mark.parametrize(
    ("code", "target"),
    [("7405", 0x1007), ("EBFE", 0x1000), ("0F8500010000", 0x1106), ("E9FBFFFFFF", 0x1000), ("E310", 0x1012)],
)
def test_jumps_know_where_to(code: str, target: int) -> None:
    jump = decode(bytes.fromhex(code), 0, 0x1000)

    assert jump is not None
    assert (jump.jumps_to, jump.called, jump.is_call) == (target, None, False)


@pytest.mark.parametrize(("code", "target"), [("E8FBFFFFFF", 0x1000), ("FFD0", None), ("FF5010", None)])
def test_calls_know_whom(code: str, target: int | None) -> None:
    call = decode(bytes.fromhex(code), 0, 0x1000)

    assert call is not None
    assert (call.is_call, call.called, call.jumps_to) == (True, target, None)


@pytest.mark.parametrize(
    ("code", "ends"),
    [("C3", True), ("EB00", True), ("E900000000", True), ("FFE0", True), ("0F0B", True), ("F4", True),
     ("7400", False), ("E800000000", False), ("FFD0", False), ("90", False), ("FF30", False)],
)  # fmt: skip
def test_blocks_end_where_nothing_goes_on(code: str, ends: bool) -> None:
    step = decode(bytes.fromhex(code), 0, 0)

    assert step is not None
    assert step.ends_block is ends


@pytest.mark.parametrize(
    ("code", "size"),
    [("8845F8", 1), ("668945F8", 2), ("8945F8", 4), ("488945F8", 8), ("66488945F8", 8), ("C645F800", 1), ("0F94C0", 1),
     ("3C05", 1), ("B005", 1)],
)  # fmt: skip
def test_sizes_of_operands(code: str, size: int) -> None:
    step = decode(bytes.fromhex(code), 0, 0)

    assert step is not None
    assert step.size == size


def test_a_walk_ends_before_what_is_no_instruction() -> None:
    assert [step.address for step in instructions(bytes.fromhex("55 4889E5 06 90"), 16)] == [16, 17]


@given(st.binary(max_size=400))
def test_any_bytes_are_cut_into_instructions_up_to_some_place(code: bytes) -> None:
    steps = list(instructions(code, 0x1000))

    assert all(1 <= step.length <= 15 for step in steps)
    assert [step.address for step in steps[1:]] == [step.end for step in steps[:-1]]
    assert not steps or steps[-1].end <= 0x1000 + len(code)
