from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envbuilder.curation.wheel_audit.code.constant_propagation import walk
from envbuilder.curation.wheel_audit.code.cpu_state import CpuState, Value
from envbuilder.curation.wheel_audit.code.instructions import Register

SET_7 = "BF07000000"  # mov edi,7


def at_last(*texts: str) -> CpuState:
    """What is known before the `nop` that ends this code."""
    code = bytes.fromhex("".join(texts)) + b"\x90"
    *_, (step, state) = walk(code, 0x1000)
    assert step.end == 0x1000 + len(code)
    return state


def rdi(*texts: str) -> int | None:
    return at_last(*texts).register(Register.RDI).number


@pytest.mark.parametrize(
    ("code", "number"),
    [
        ([SET_7], 7),
        (["48BF0800000006000000"], 0x600000008),
        (["48C7C7FFFFFFFF"], 2**64 - 1),
        (["BFFFFFFFFF"], 2**32 - 1),
        (["C7C705000000"], 5),
        (["31FF"], 0),
        (["4829FF"], 0),
        (["B838000000", "89C7"], 0x38),
        (["B838000000", "4889C7"], 0x38),
        (["488D3DF8FFFFFF"], 0xFFF),
        (["B805000000", "488D7803"], 8),
        ([SET_7, "4883C703"], 10),
        ([SET_7, "4883EF02"], 5),
        ([SET_7, "83FF09"], 7),
        ([SET_7, "57", "31FF", "5F"], 7),
        (["C745E007000000", "C745E406000000", "488B7DE0"], 0x600000007),
        (["48C745E008000000", "488B7DE0"], 8),
        (["C745E007000000", "8B7DE0"], 7),
        (["66C745E00100", "66C745E20200", "8B7DE0"], 0x20001),
        (["B838000000", "668945E0", "C645E200", "C645E300", "8B7DE0"], 0x38),
        (["55", "4889E5", "4883EC20", "C745E007000000", "8B7C2400"], 7),
        (["C745E007000000", "4889E8", "8B78E0"], 7),
        ([SET_7, "F7C700010000"], 7),
        ([SET_7, "F7E2"], 7),
        ([SET_7, "FF30"], 7),
        ([SET_7, "8D3F"], 7),
    ],
)
def test_constants_are_followed(code: list[str], number: int) -> None:
    assert rdi(*code) == number


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(["90"], id="never set"),
        pytest.param([SET_7, "E800000000"], id="a call changes it"),
        pytest.param([SET_7, "0FAFFE"], id="imul"),
        pytest.param([SET_7, "F7DF"], id="neg"),
        pytest.param([SET_7, "FFC7"], id="inc"),
        pytest.param(["B807000000", "F7E2", "89C7"], id="mul writes rax"),
        pytest.param([SET_7, "0F05"], id="the system is called"),
        pytest.param([SET_7, "F20F104500", "F20F10F8", "A5"], id="a string instruction named like one of vectors"),
        pytest.param([SET_7, "83CF01"], id="or with a constant"),
        pytest.param([SET_7, "31F7"], id="xor with another register"),
        pytest.param([SET_7, "0F44FE"], id="conditional move"),
        pytest.param([SET_7, "40B705"], id="only its low byte"),
        pytest.param([SET_7, "66BF0500"], id="only its low half"),
        pytest.param([SET_7, "66480F7EC7"], id="out of a vector register"),
        pytest.param([SET_7, "C4E2F0F2F8"], id="a VEX-encoded one that writes a register"),
        pytest.param([SET_7, "F348AB"], id="a string instruction"),
        pytest.param(["B807000000", "0FA2", "89C7"], id="cpuid, which names no operands"),
        pytest.param(["B807000000", "0FB10E", "89C7"], id="compare and exchange"),
        pytest.param([SET_7, "C9"], id="the frame is left"),
        pytest.param(["8B7DE0"], id="memory that nobody wrote"),
        pytest.param(["C745E007000000", "488B7DE0"], id="half of it is not known"),
        pytest.param(["C745E007000000", "C645E100", "FE45E1", "8B7DE0"], id="a byte in it was changed"),
        pytest.param(["C745E007000000", "0F1145D8", "8B7DE0"], id="a vector was stored over it"),
        pytest.param(["C745E007000000", "8945E0", "8B7DE0"], id="something unknown was stored over it"),
        pytest.param(["C745E007000000", "8865E0", "8B7DE0"], id="ah was stored into it"),
        pytest.param(["C745E007000000", "488D7DE0", "E800000000", "8B7DE0"], id="its address was given away"),
        pytest.param(["C745E007000000", "8B7C85E0"], id="an index is added"),
        pytest.param(["64C7042528000000", "07000000", "8B3C2528000000"], id="of the thread"),
        pytest.param(["8B3D00000000"], id="contents of the file"),
    ],
)
def test_what_is_not_understood_is_not_known(code: list[str]) -> None:
    assert rdi(*code) is None


def test_registers_that_a_call_keeps_are_kept() -> None:
    assert at_last("BB07000000", "E800000000").register(Register.RBX).number == 7


def test_memory_whose_address_was_not_given_away_outlives_a_call() -> None:
    assert rdi("C745E007000000", "C745D000000000", "488D7DD0", "E800000000", "8B7DE0") == 7


def test_a_conditional_jump_that_is_not_taken_changes_nothing() -> None:
    assert rdi(SET_7, "7501", "90") is None, "the last nop is where it jumps"
    assert rdi(SET_7, "75F9") == 7, "it jumps back"


def test_nothing_is_known_where_two_ways_meet() -> None:
    assert rdi("7405", SET_7) is None


def test_nothing_is_known_behind_a_return() -> None:
    assert rdi(SET_7, "C3") is None


def test_addresses_keep_their_distance() -> None:
    state = at_last("488D7DE0", "488D75C8")

    place, other = state.register(Register.RDI), state.register(Register.RSI)
    assert place == other.moved(0x18)
    assert place.number is None


def test_addresses_are_stored_and_loaded() -> None:
    state = at_last("488D7DE0", "48897DC8", "488B75C8")

    assert state.register(Register.RSI) == state.register(Register.RDI)


def test_half_an_address_is_none() -> None:
    state = at_last("488D7DE0", "48897DC8", "C745CC00000000", "488B75C8")

    assert state.register(Register.RSI) != state.register(Register.RDI)


def test_two_unknown_things_are_not_the_same() -> None:
    state = at_last("488B75C8", "488B7DC8")

    assert state.register(Register.RSI) != state.register(Register.RDI)


def test_an_address_cut_to_32_bits_is_none() -> None:
    state = at_last("488D7DE0", "89FE")

    assert state.register(Register.RSI) != state.register(Register.RDI)
    assert state.register(Register.RSI).number is None


def test_pushes_and_pops_are_followed() -> None:
    assert rdi("BE01000000", "56", "6A05", "58", "5F") == 1


def test_bytes_are_known_together_or_not_at_all() -> None:
    state = CpuState()
    place = state.register(Register.RSP)
    state.store(place, 4, Value(0, 0x64636261))

    assert state.octets(place, 4) == b"abcd"
    assert state.octets(place, 0) == b""
    assert state.octets(place, 5) is None


@given(st.binary(max_size=300))
def test_any_bytes_can_be_walked(code: bytes) -> None:
    for step, state in walk(code, 0x1000):
        assert 0x1000 <= step.address < 0x1000 + len(code)
        number = state.register(Register.RAX).number
        assert number is None or 0 <= number < 2**64
