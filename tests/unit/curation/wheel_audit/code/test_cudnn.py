from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from envbuilder.catalog.cuda import CudnnRule
from envbuilder.curation.wheel_audit.code import CudnnReading, cudnn_reading
from tests.unit.curation.wheel_audit.code.elves import CODE, DATA, ROOM, Code, elf, stub

INIT = "_ZN15stream_executor3gpu12CudnnSupport4InitEv"
OLDEST_INIT = "_ZN9perftools8gputools4cuda12CudnnSupport4InitEv"
COMPATIBLE = "_ZN15stream_executor3gpu34IsSourceCompatibleWithCudnnLibraryENS0_12CudnnVersionES1_"

LOADED, TEXT_OF = CODE + 8 * ROOM, CODE + 9 * ROOM
"""Functions of the library itself: one that asks cuDNN for its version, one that makes text of a number."""

BEGIN = "55 4889E5 4883EC60"
RECIPROCAL = 0x28F5C28F5C28F5C3
MORE_OR_EQUAL = bytes.fromhex("31C0 39FA 7401 C3 3975E4 0F9DC0 C3")
"""`loaded.major == major && loaded.minor >= minor`"""

LIKE_1_8 = bytes.fromhex("31C0 39FA 7401 C3 39CE B801000000 74F6 31C0 83FA06 7EEF 39CE 0F9EC0 C3")
"""As before, but equal minors up to major 6."""

EQUAL = bytes.fromhex("31C0 39FA 7401 C3 3975E4 0F94C0 C3")


def by_hundreds(
    *, kept: int = 6000, compiled: int | None = 6021, jump: str = "0F84", reciprocal: int = RECIPROCAL
) -> Code:
    code = Code().raw(BEGIN).number("48BA", reciprocal, 8).raw("4989C5 48F7E2 48C1EA02").number("4881FF", kept)
    code.to(jump, CODE + 100)
    if compiled is not None:
        code.number("BF", compiled).call(TEXT_OF)
    return code.number("BF", kept).call(TEXT_OF).raw("C3")


def stored_one_by_one(code: Code, called: int) -> Code:
    """`{7, 0, 5}` in three stores, as up to 1.14."""
    code.raw(BEGIN, "488D75C0").number("C745E0", 7).number("C745E4", 0).number("C745E8", 5).call(LOADED)
    return code.raw("488B7DE0 8B75E8 488B55C0").call(called).raw("84C0C3")


def stored_in_pairs(code: Code, called: int) -> Code:
    """`{8, 0, 4}` in a store of 8 bytes and one of 4, as in 2.4."""
    code.raw(BEGIN, "488D75C0").number("48C745E0", 8).number("C745E8", 4).call(LOADED)
    return code.raw("488B7DE0 8B75E8").call(called).raw("84C0C3")


def by_way_of_a_register(code: Code, called: int) -> Code:
    """`{7, 6, 4}` as one constant and another, as in 2.2."""
    code.raw(BEGIN, "488D75C0").number("48B8", 0x600000007, 8).raw("488945E0").number("C745E8", 4).call(LOADED)
    return code.raw("488B7DE0 8B75E8").call(called).raw("84C0C3")


def in_registers(code: Code, called: int) -> Code:
    """`{8, 6, 0}` given directly, as in 2.14."""
    return code.raw(BEGIN).call(LOADED).number("48BF", 0x600000008, 8).raw("31F6").call(called).raw("84C0C3")


def inlined(
    code: Code, *, major: int = 9, minor: str = "4183FE02", jump: str = "0F8E", out: int = CODE + 200, other: int = 0
) -> Code:
    """`loaded.major != 9 || loaded.minor <= 2`, as from 2.15 on."""
    code.raw(BEGIN).call(LOADED).number("83FF", major, 1).to("0F85", out).raw(minor).to(jump, other or out)
    return code.raw("C3").raw("90" * 8)


def spelled(code: Code, *numbers: int) -> Code:
    for number in numbers:
        (code.number("BF", number) if number else code.raw("31FF")).raw("4C89FE").call(TEXT_OF)
    return code.raw("C3")


def read(code: Code, *, data: bytes = b"", name: str = INIT) -> CudnnReading | None:
    return cudnn_reading(elf({name: code.content}, data=data))


def exactly(compiled: str) -> CudnnReading:
    return CudnnReading(compiled=compiled, rule=CudnnRule.EXACT_MINOR)


def at_least(compiled: str) -> CudnnReading:
    return CudnnReading(compiled=compiled, rule=CudnnRule.SAME_MAJOR_AT_LEAST)


@pytest.mark.parametrize(
    ("kept", "compiled", "release"),
    [(6000, 6021, "6.0.21"), (5100, 5110, "5.1.10"), (7000, 7004, "7.0.4"), (7000, None, "7.0.0")],
)
@pytest.mark.parametrize("jump", ["0F84", "0F85"])
def test_a_comparison_of_hundreds_is_exact(kept: int, compiled: int | None, release: str, jump: str) -> None:
    assert read(by_hundreds(kept=kept, compiled=compiled, jump=jump), name=OLDEST_INIT) == exactly(release)


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(by_hundreds(reciprocal=RECIPROCAL + 1), id="divided by something else"),
        pytest.param(by_hundreds(jump="0F8E"), id="compared for order"),
        pytest.param(by_hundreds(kept=6021), id="compared with the patch level"),
        pytest.param(by_hundreds(kept=60), id="compared with what is no version"),
        pytest.param(by_hundreds(compiled=6021).number("BE", 6022), id="two versions"),
    ],
)
def test_other_comparisons_are_not_read(code: Code) -> None:
    assert read(code) is None


HANDED_OVER: dict[Callable[[Code, int], Code], str] = {
    stored_one_by_one: "7.0.5",
    stored_in_pairs: "8.0.4",
    by_way_of_a_register: "7.6.4",
    in_registers: "8.6.0",
}


@pytest.mark.parametrize("make", HANDED_OVER)
def test_the_version_that_is_handed_over_is_read(make: Callable[[Code, int], Code]) -> None:
    direct = elf({INIT: make(Code(), CODE + ROOM).content, COMPATIBLE: MORE_OR_EQUAL})
    by_stub = elf({INIT: make(Code(), stub()).content, COMPATIBLE: MORE_OR_EQUAL}, imports=[COMPATIBLE])

    assert cudnn_reading(direct) == cudnn_reading(by_stub) == at_least(HANDED_OVER[make])


@pytest.mark.parametrize("make", HANDED_OVER)
def test_what_is_handed_to_another_function_is_no_version(make: Callable[[Code, int], Code]) -> None:
    other = elf({INIT: make(Code(), stub()).content, COMPATIBLE: MORE_OR_EQUAL}, imports=["other"])

    assert cudnn_reading(other) is None


@pytest.mark.parametrize(
    ("compare", "rule"),
    [
        (MORE_OR_EQUAL, CudnnRule.SAME_MAJOR_AT_LEAST),
        (LIKE_1_8, CudnnRule.SAME_MAJOR_AT_LEAST),
        (EQUAL, CudnnRule.EXACT_MINOR),
    ],
)
def test_the_rule_is_what_the_function_compares(compare: bytes, rule: CudnnRule) -> None:
    code = stored_one_by_one(Code(), CODE + ROOM)

    assert cudnn_reading(elf({INIT: code.content, COMPATIBLE: compare})) == CudnnReading(compiled="7.0.5", rule=rule)


def test_a_function_that_is_exact_up_to_a_major_is_so_for_that_major() -> None:
    code = Code().raw(BEGIN).call(LOADED).number("48BF", 6, 8).number("BE", 21).call(CODE + ROOM).raw("C3")

    assert cudnn_reading(elf({INIT: code.content, COMPATIBLE: LIKE_1_8})) == exactly("6.0.21")


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(Code().raw(BEGIN).call(CODE + ROOM).raw("C3"), id="nothing is handed over"),
        pytest.param(Code().raw(BEGIN, "31FF 31F6").call(CODE + ROOM).raw("C3"), id="0.0.0"),
        pytest.param(Code().raw(BEGIN).number("48BF", 8 | 1000 << 32, 8).raw("31F6").call(CODE + ROOM), id="8.1000.0"),
        pytest.param(in_registers(Code(), LOADED), id="another function is called"),
    ],
)
def test_what_is_no_version_is_not_read(code: Code) -> None:
    assert cudnn_reading(elf({INIT: code.content, COMPATIBLE: MORE_OR_EQUAL})) is None


def test_a_function_that_compares_nothing_gives_no_rule() -> None:
    code = in_registers(Code(), CODE + ROOM)

    assert cudnn_reading(elf({INIT: code.content, COMPATIBLE: bytes.fromhex("B801000000C3")})) is None


@pytest.mark.parametrize(
    ("minor", "jump", "reading"),
    [
        pytest.param("4183FE02", "0F8E", at_least("9.3"), id="less or equal"),
        pytest.param("837DEC02", "0F86", at_least("9.3"), id="below or equal, in memory"),
        pytest.param("4183FE03", "0F8C", at_least("9.3"), id="less"),
        pytest.param("4183FE03", "0F82", at_least("9.3"), id="below"),
        pytest.param("4183FE03", "0F85", exactly("9.3"), id="not equal"),
    ],
)
def test_an_inlined_comparison_tells_the_minor(minor: str, jump: str, reading: CudnnReading) -> None:
    assert read(inlined(Code(), minor=minor, jump=jump)) == reading


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(inlined(Code(), other=CODE + 300), id="two ways out"),
        pytest.param(inlined(Code(), major=1), id="no major"),
        pytest.param(inlined(Code(), jump="0F8F"), id="away on larger minors"),
        pytest.param(inlined(Code(), minor="4183FEFF"), id="no minor"),
        pytest.param(inlined(inlined(Code()), major=8), id="two of them"),
        pytest.param(Code().raw("06"), id="no instruction"),
    ],
)
def test_other_comparisons_of_two_numbers_are_not_read(code: Code) -> None:
    assert read(code) is None


@pytest.mark.parametrize(("numbers", "release"), [((9, 3, 0), "9.3.0"), ((9, 3, 12), "9.3.12")])
def test_the_patch_level_is_read_from_the_message(numbers: tuple[int, ...], release: str) -> None:
    assert read(spelled(inlined(Code()), *numbers)) == at_least(release)


@pytest.mark.parametrize("numbers", [(9, 2, 1), (3, 9, 1), (9, 3), (9, 3, 1, 9, 3, 2), (9, 3, 5000)])
def test_another_version_in_the_message_gives_no_patch_level(numbers: tuple[int, ...]) -> None:
    assert read(spelled(inlined(Code()), *numbers)) == at_least("9.3")


def test_the_patch_level_is_read_from_a_constant_of_the_file() -> None:
    code = inlined(Code()).to("488D35", DATA + 4).call(TEXT_OF)

    assert read(code, data=struct.pack("<4i", 1, 9, 3, 1)) == at_least("9.3.1")
    assert read(code, data=struct.pack("<4i", 1, 9, 2, 1)) == at_least("9.3")


@pytest.mark.parametrize(
    "name",
    ["_ZN15stream_executor3gpu12CudnnSupport4InitEi", "_ZN15stream_executor3gpu13MiopenSupport4InitEv", "Init"],
)
def test_a_library_without_cudnn_is_not_read(name: str) -> None:
    assert read(inlined(Code()), name=name) is None


def test_a_library_that_only_calls_it_is_not_read() -> None:
    assert cudnn_reading(elf({"f": b"\xc3"}, undefined=[INIT])) is None
